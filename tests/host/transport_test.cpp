#include <libra/host/transport.hpp>

#include <libra/core/error.hpp>
#include <libra/core/random.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace {

using libra::const_rows;
using libra::exchange_round;
using libra::incoming;
using libra::mutable_rows;
using libra::outgoing;
using libra::queue;
using libra::rank_id;
using libra::host::rank_group;
using libra::host::transport;

const_rows dense(std::vector<std::byte> const& bytes) {
  auto const n = std::ssize(bytes);
  return {bytes.data(), 1, n, n};
}
mutable_rows dense(std::vector<std::byte>& bytes) {
  auto const n = std::ssize(bytes);
  return {bytes.data(), 1, n, n};
}
std::vector<std::byte> bytes_of(std::string const& text) {
  std::vector<std::byte> bytes;
  for (char const c : text) {
    bytes.push_back(static_cast<std::byte>(c));
  }
  return bytes;
}

/// Starts a round and waits for it.
void exchange(transport& t, queue channel, std::int32_t round, std::vector<outgoing> const& sends,
              std::vector<incoming> const& receives) {
  auto ticket = t.start({channel, round, sends, receives});
  t.wait(ticket);
}

/// What each rank threw; each must have thrown a `run_error`.
template <class Body>
std::vector<std::string> what_ranks_throw(std::int32_t ranks, Body body) {
  std::vector<std::string> thrown(static_cast<std::size_t>(ranks));
  rank_group group(ranks);
  try {
    run_ranks(group, [&](rank_id rank) {
      transport t(group, rank);
      try {
        body(t);
      } catch (libra::run_error const& e) {
        thrown[rank.index()] = e.what();
        throw;
      }
    });
  } catch (libra::run_error const&) {
  }
  return thrown;
}

TEST_CASE("rows go from where they are to where they belong") {
  // Rank 0 sends column 1 of three rows of four; rank 1 puts it into a row of its own.
  std::vector<std::byte> const from = bytes_of("abcdefghijkl");
  std::vector<std::byte> to(3);
  rank_group group(2);
  run_ranks(group, [&](rank_id rank) {
    transport t(group, rank);
    if (rank.value == 0) {
      exchange(t, queue::fetch, 0, {{rank_id(1), {from.data() + 1, 3, 1, 4}}}, {});
    } else {
      exchange(t, queue::fetch, 0, {}, {{rank_id(0), {to.data(), 3, 1, 1}}});
    }
  });
  CHECK(to == bytes_of("bfj"));
}

TEST_CASE("several regions between two ranks keep their order, and a rank may send to itself") {
  std::vector<std::byte> const a = bytes_of("first"), b = bytes_of("2nd");
  std::array<std::vector<std::byte>, 2> to_1{std::vector<std::byte>(5), std::vector<std::byte>(3)};
  std::array<std::vector<std::byte>, 2> to_0 = to_1;
  rank_group group(2);
  run_ranks(group, [&](rank_id rank) {
    transport t(group, rank);
    if (rank.value == 0) {
      exchange(t, queue::deliver, 0,
               {{rank_id(0), dense(a)}, {rank_id(1), dense(a)}, {rank_id(1), dense(b)}, {rank_id(0), dense(b)}},
               {{rank_id(0), dense(to_0[0])}, {rank_id(0), dense(to_0[1])}});
    } else {
      exchange(t, queue::deliver, 0, {}, {{rank_id(0), dense(to_1[0])}, {rank_id(0), dense(to_1[1])}});
    }
  });
  CHECK(to_0 == std::array{a, b});
  CHECK(to_1 == std::array{a, b});
}

TEST_CASE("a rank that waits moves the data of a rank that computes") {
  std::vector<std::byte> const from = bytes_of("data");
  std::vector<std::byte> to(4);
  rank_group group(2);
  run_ranks(group, [&](rank_id rank) {
    transport t(group, rank);
    if (rank.value == 0) {
      std::vector<outgoing> const sends{{rank_id(1), dense(from)}};
      auto ticket = t.start({queue::fetch, 0, sends, {}});
      t.gather({}, {});  // Returns when rank 1 has got the data, though rank 0 has not waited for it.
      CHECK(t.test(ticket));
      t.wait(ticket);
    } else {
      exchange(t, queue::fetch, 0, {}, {{rank_id(0), dense(to)}});
      t.gather({}, {});
    }
  });
  CHECK(to == from);
}

TEST_CASE("channels are apart, and a round that moves nothing for a rank does not hold it up") {
  std::vector<std::byte> const from = bytes_of("x");
  std::vector<std::byte> to(1);
  rank_group group(3);
  run_ranks(group, [&](rank_id rank) {
    transport t(group, rank);
    for (std::int32_t round = 0; round < 20; ++round) {
      if (rank.value == 2) {
        exchange(t, queue::fetch, round, {}, {});
      }
    }
    if (rank.value == 0) {
      exchange(t, queue::deliver, 0, {{rank_id(1), dense(from)}}, {});
      for (std::int32_t round = 0; round < 20; ++round) {
        exchange(t, queue::fetch, round, {}, {});
      }
    }
    if (rank.value == 1) {
      for (std::int32_t round = 0; round < 20; ++round) {
        exchange(t, queue::fetch, round, {}, {});
      }
      exchange(t, queue::deliver, 0, {}, {{rank_id(0), dense(to)}});
    }
    if (rank.value == 2) {
      exchange(t, queue::deliver, 0, {}, {});
    }
  });
  CHECK(to == from);
}

/// What rank `from` sends to rank `to` in a round: a size that both can work out.
std::vector<std::uint32_t> numbers(std::int32_t round, std::int32_t from, std::int32_t to) {
  libra::random_bits bits(static_cast<std::uint64_t>((round * 1000 + from) * 1000 + to));
  std::vector<std::uint32_t> values(static_cast<std::size_t>(bits.below(50)));
  std::iota(values.begin(), values.end(), static_cast<std::uint32_t>(bits()));
  return values;
}

TEST_CASE("many ranks, many rounds: everything arrives") {
  constexpr std::int32_t ranks = 24;
  constexpr std::int32_t rounds = 12;
  std::vector<std::int32_t> right(ranks);
  rank_group group(ranks);
  run_ranks(group, [&](rank_id rank) {
    transport t(group, rank);
    for (std::int32_t round = 0; round < rounds; ++round) {
      std::vector<std::vector<std::uint32_t>> out, in;
      std::vector<outgoing> sends;
      std::vector<incoming> receives;
      for (std::int32_t peer = 0; peer < ranks; ++peer) {
        out.push_back(numbers(round, rank.value, peer));
        in.emplace_back(numbers(round, peer, rank.value).size());
      }
      for (std::int32_t peer = 0; peer < ranks; ++peer) {
        auto const sent = std::as_bytes(std::span(out[static_cast<std::size_t>(peer)]));
        auto const received = std::as_writable_bytes(std::span(in[static_cast<std::size_t>(peer)]));
        sends.push_back({rank_id(peer), {sent.data(), std::ssize(sent) / 4, 4, 4}});
        receives.push_back({rank_id(peer), {received.data(), std::ssize(received) / 4, 4, 4}});
      }
      auto ticket = t.start({round % 2 == 0 ? queue::fetch : queue::deliver, round, sends, receives});
      while (!t.test(ticket) && round % 3 == 0) {
        std::this_thread::yield();
      }
      t.wait(ticket);
      for (std::int32_t peer = 0; peer < ranks; ++peer) {
        right[rank.index()] += in[static_cast<std::size_t>(peer)] == numbers(round, peer, rank.value);
      }
    }
  });
  CHECK(right == std::vector<std::int32_t>(ranks, rounds * ranks));
}

TEST_CASE("regions that one rank sends and the other does not expect are an error of both") {
  std::vector<std::byte> memory(8);
  for (bool const late : {false, true}) {
    auto const thrown = what_ranks_throw(3, [&](transport& t) {
      if (t.rank().value == (late ? 0 : 1)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      if (t.rank().value == 0) {
        exchange(t, queue::fetch, 0,
                 {{rank_id(1), dense(std::as_const(memory))}, {rank_id(1), dense(std::as_const(memory))}}, {});
      } else if (t.rank().value == 1) {
        exchange(t, queue::fetch, 0, {}, {{rank_id(0), dense(memory)}});
      }
      t.gather({}, {});
    });
    for (std::string const& what : thrown) {
      CHECK(what.find("fetch round 0: rank 0 sends 2 regions to rank 1, which expects 1") != std::string::npos);
    }
  }
}

TEST_CASE("regions of different sizes are an error that names the round, the ranks and both sizes") {
  std::vector<std::byte> memory(64);
  auto const thrown = what_ranks_throw(2, [&](transport& t) {
    if (t.rank().value == 0) {
      exchange(t, queue::deliver, 0, {{rank_id(1), {memory.data(), 2, 8, 8}}}, {});
    } else {
      exchange(t, queue::deliver, 0, {}, {{rank_id(0), {memory.data(), 4, 4, 4}}});
    }
  });
  for (std::string const& what : thrown) {
    CHECK(
        what.find("deliver round 0: region 0 from rank 0 to rank 1 is 2 rows of 8 bytes as sent, 4 rows of 4 bytes as "
                  "received") != std::string::npos);
  }
}

TEST_CASE("ranks that start different rounds are an error that names them") {
  auto const thrown = what_ranks_throw(2, [&](transport& t) {
    exchange(t, queue::fetch, t.rank().value, {}, {});
    t.gather({}, {});
  });
  bool const first = thrown[0].find("rank 0 starts fetch round 0 where rank 1 started round 1") != std::string::npos &&
                     thrown[1].find("rank 0 starts fetch round 0 where rank 1 started round 1") != std::string::npos;
  bool const second = thrown[0].find("rank 1 starts fetch round 1 where rank 0 started round 0") != std::string::npos &&
                      thrown[1].find("rank 1 starts fetch round 1 where rank 0 started round 0") != std::string::npos;
  CHECK((first || second));
}

TEST_CASE("a peer that does not exist and a second round before the first has finished are errors") {
  std::vector<std::byte> memory(1);
  CHECK(what_ranks_throw(1, [&](transport& t) {
          exchange(t, queue::fetch, 0, {{rank_id(1), dense(std::as_const(memory))}}, {});
        })[0] == "fetch round 0: rank 0 exchanges with rank 1 in a group of 1");
  CHECK(what_ranks_throw(1, [&](transport& t) {
          (void)t.start({queue::fetch, 0, {}, {}});
          (void)t.start({queue::fetch, 1, {}, {}});
        })[0] == "fetch round 1: rank 0 has not finished round 0");
}

TEST_CASE("ranks that all wait, or wait for one that has returned, throw what each waits for") {
  std::vector<std::byte> memory(4);
  auto thrown = what_ranks_throw(2, [&](transport& t) {
    // Each waits in its own channel for the other.
    rank_id const peer(1 - t.rank().value);
    exchange(t, t.rank().value == 0 ? queue::fetch : queue::deliver, 0, {}, {{peer, dense(memory)}});
  });
  for (std::string const& what : thrown) {
    CHECK(what.find("no rank can go on: rank 0 waits in fetch round 0 for rank 1; rank 1 waits in deliver round 0 for "
                    "rank 0") != std::string::npos);
  }
  thrown = what_ranks_throw(3, [&](transport& t) {
    if (t.rank().value == 0) {
      exchange(t, queue::fetch, 0, {}, {{rank_id(2), dense(memory)}});
    } else if (t.rank().value == 1) {
      t.gather({}, {});
    }
  });
  CHECK(thrown[0].find("rank 0 waits in fetch round 0 for rank 2; rank 1 waits in gather; rank 2 has returned") !=
        std::string::npos);
  CHECK(thrown[1].find("rank 0 waits in fetch round 0 for rank 2; rank 1 waits in gather; rank 2 has returned") !=
        std::string::npos);
  CHECK(thrown[2] == "");
}

TEST_CASE("gather brings every rank's words to every rank, again and again") {
  constexpr std::int32_t ranks = 7;
  std::vector<std::int32_t> right(ranks);
  rank_group group(ranks);
  run_ranks(group, [&](rank_id rank) {
    transport t(group, rank);
    for (std::uint64_t turn = 0; turn < 50; ++turn) {
      std::array<std::uint64_t, 2> const mine{turn, turn * 100 + static_cast<std::uint64_t>(rank.value)};
      std::vector<std::uint64_t> all(2 * ranks);
      t.gather(mine, all);
      bool same = true;
      for (std::uint64_t r = 0; r < ranks; ++r) {
        same = same && all[2 * r] == turn && all[2 * r + 1] == turn * 100 + r;
      }
      right[rank.index()] += same;
    }
  });
  CHECK(right == std::vector<std::int32_t>(ranks, 50));
}

TEST_CASE("gathering different numbers of words is an error that names them") {
  auto const thrown = what_ranks_throw(2, [&](transport& t) {
    std::vector<std::uint64_t> const mine(t.rank().value == 0 ? 1 : 3);
    std::vector<std::uint64_t> all(mine.size() * 2);
    t.gather(mine, all);
  });
  for (std::string const& what : thrown) {
    bool const named = what.find("rank 0 gathers 1 words where rank 1 gathers 3") != std::string::npos ||
                       what.find("rank 1 gathers 3 words where rank 0 gathers 1") != std::string::npos;
    CHECK(named);
  }
}

TEST_CASE("after an abort every rank throws the first reason, in calls that wait and in later ones") {
  std::vector<std::byte> memory(4);
  auto const thrown = what_ranks_throw(3, [&](transport& t) {
    if (t.rank().value == 0) {
      exchange(t, queue::fetch, 0, {}, {{rank_id(2), dense(memory)}});
    } else if (t.rank().value == 1) {
      t.gather({}, {});
    } else {
      t.abort("out of paper");
      t.abort("out of ink");
      CHECK_THROWS_WITH_AS((void)t.start({queue::fetch, 0, {}, {}}), "out of paper", libra::run_error);
      CHECK_THROWS_AS(t.gather({}, {}), libra::run_error);
    }
  });
  CHECK(thrown[0] == "rank 2 failed: out of paper");
  CHECK(thrown[1] == "rank 2 failed: out of paper");
}

TEST_CASE("a transport needs a rank of its group") {
  rank_group group(2);
  CHECK_THROWS_WITH_AS(transport(group, rank_id(2)), "rank is 2, expected 0 to 1", libra::input_error);
  CHECK_THROWS_AS(transport(group, rank_id(-1)), libra::input_error);
}

}  // namespace
