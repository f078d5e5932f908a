#include "mpi/ranks.hpp"

#include <libra/core/error.hpp>
#include <libra/core/random.hpp>
#include <libra/mpi/transport.hpp>

#include <doctest/doctest.h>
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using libra::const_rows;
using libra::incoming;
using libra::mutable_rows;
using libra::outgoing;
using libra::queue;
using libra::rank_id;
using libra::mpi::transport;

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

void exchange(transport& t, queue channel, std::int32_t round, std::vector<outgoing> const& sends,
              std::vector<incoming> const& receives) {
  auto ticket = t.start({channel, round, sends, receives});
  t.wait(ticket);
}

/// What this process's rank of a pool of `ranks` threw; nothing where it takes no part.
template <class Body>
std::string what_this_rank_throws(std::int32_t ranks, Body body) {
  pool_of const pool(ranks);
  if (!pool.joined()) {
    return "";
  }
  transport t(pool.get(), {.timeout = std::chrono::seconds(20)});
  try {
    body(t);
  } catch (libra::run_error const& e) {
    t.abort(e.what());
    return e.what();
  }
  return "nothing";
}

bool tells(std::string const& what, std::string const& part) {
  return what.empty() || what.find(part) != std::string::npos;
}

TEST_CASE("rows go from where they are to where they belong, to itself too, in order") {
  pool_of const pool(2);
  if (!pool.joined()) {
    return;
  }
  transport t(pool.get());
  CHECK(t.ranks() == 2);
  CHECK(t.rank() == rank_id(pool_of::self()));
  std::vector<std::byte> const from = bytes_of("abcdefghijkl"), word = bytes_of("word");
  std::vector<std::byte> column(3), copy(4);
  std::vector<outgoing> sends;
  std::vector<incoming> receives;
  if (t.rank().value == 0) {
    // Column 1 of three rows of four, then the word.
    sends = {{rank_id(1), {from.data() + 1, 3, 1, 4}}, {rank_id(1), dense(word)}, {rank_id(0), dense(word)}};
    receives = {{rank_id(0), dense(copy)}};
  } else {
    receives = {{rank_id(0), {column.data(), 3, 1, 1}}, {rank_id(0), dense(copy)}};
  }
  exchange(t, queue::fetch, 0, sends, receives);
  CHECK(copy == word);
  CHECK((t.rank().value == 0 || column == bytes_of("bfj")));
}

/// What rank `from` sends to rank `to` in a round: a size that both can work out, often none.
std::vector<std::uint32_t> numbers(std::int32_t round, std::int32_t from, std::int32_t to) {
  libra::random_bits bits(static_cast<std::uint64_t>((round * 1000 + from) * 1000 + to));
  // Some are beyond what travels without the receiver's help.
  auto const size = bits.below(3) == 0 ? bits.below(20000) : bits.below(3);
  std::vector<std::uint32_t> values(static_cast<std::size_t>(size));
  std::iota(values.begin(), values.end(), static_cast<std::uint32_t>(bits()));
  return values;
}

TEST_CASE("ragged rounds on both channels at once: everything arrives") {
  std::int32_t const ranks = pool_of::world();
  transport t(MPI_COMM_WORLD);
  for (std::int32_t round = 0; round < 20; ++round) {
    std::array<std::vector<std::vector<std::uint32_t>>, 2> out, in;
    std::array<std::vector<outgoing>, 2> sends;
    std::array<std::vector<incoming>, 2> receives;
    std::array<transport::ticket, 2> tickets;
    std::array const channels{queue::fetch, queue::deliver};
    for (std::size_t c = 0; c < 2; ++c) {
      std::int32_t const series = 2 * round + static_cast<std::int32_t>(c);
      for (std::int32_t peer = 0; peer < ranks; ++peer) {
        out[c].push_back(numbers(series, t.rank().value, peer));
        in[c].emplace_back(numbers(series, peer, t.rank().value).size());
      }
      for (std::int32_t peer = 0; peer < ranks; ++peer) {
        auto const sent = std::as_bytes(std::span(out[c][static_cast<std::size_t>(peer)]));
        auto const got = std::as_writable_bytes(std::span(in[c][static_cast<std::size_t>(peer)]));
        if (!sent.empty()) sends[c].push_back({rank_id(peer), {sent.data(), std::ssize(sent) / 4, 4, 4}});
        if (!got.empty()) receives[c].push_back({rank_id(peer), {got.data(), std::ssize(got) / 4, 4, 4}});
      }
      tickets[c] = t.start({channels[c], round, sends[c], receives[c]});
    }
    // Ranks wait for the channels in different orders.
    std::size_t const first = static_cast<std::size_t>(t.rank().value % 2);
    while (round % 2 == 0 && !t.test(tickets[first])) {
    }
    t.wait(tickets[first]);
    t.wait(tickets[1 - first]);
    CHECK(t.test(tickets[0]));
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::int32_t peer = 0; peer < ranks; ++peer) {
        CHECK(in[c][static_cast<std::size_t>(peer)] ==
              numbers(2 * round + static_cast<std::int32_t>(c), peer, t.rank().value));
      }
    }
  }
}

TEST_CASE("a communicator of the caller's is adopted: its order counts, its messages stay its own") {
  int const world = pool_of::world();
  int const self = pool_of::self();
  MPI_Comm turned = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, world - self, &turned);
  int theirs = -1;
  MPI_Request pending = MPI_REQUEST_NULL;
  MPI_Irecv(&theirs, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, turned, &pending);
  {
    transport t(turned);
    CHECK(t.rank().value == world - 1 - self);
    std::vector<std::uint64_t> const mine{static_cast<std::uint64_t>(self), 7};
    std::vector<std::uint64_t> all(mine.size() * static_cast<std::size_t>(world));
    for (int turn = 0; turn < 3; ++turn) {
      t.gather(mine, all);
    }
    for (std::size_t r = 0; r < static_cast<std::size_t>(world); ++r) {
      CHECK(all[2 * r] == static_cast<std::uint64_t>(world) - 1 - r);
    }
    t.gather({}, {});
  }
  CHECK(theirs == -1);
  MPI_Barrier(MPI_COMM_WORLD);
  int const mine = self;
  MPI_Send(&mine, 1, MPI_INT, world - 1 - (self + 1) % world, 0, turned);
  MPI_Wait(&pending, MPI_STATUS_IGNORE);
  CHECK(theirs == (self + world - 1) % world);
  MPI_Comm_free(&turned);
}

TEST_CASE("a send and a receive that differ are an error of both ranks that names them") {
  std::vector<std::byte> memory(4096);
  std::vector<std::byte> const data(4096);
  auto const both = [&](mutable_rows const& expected, std::vector<const_rows> const& sent) {
    return what_this_rank_throws(2, [&](transport& t) {
      if (t.rank().value == 0) {
        std::vector<outgoing> sends;
        for (const_rows const& rows : sent) sends.push_back({rank_id(1), rows});
        exchange(t, queue::deliver, 3, sends, {});
      } else {
        exchange(t, queue::deliver, 3, {}, {{rank_id(0), expected}});
      }
      t.gather({}, {});
    });
  };
  std::string what = both({memory.data(), 4, 4, 4}, {{data.data(), 2, 8, 8}});
  CHECK(tells(what,
              "deliver round 3: region 0 from rank 0 to rank 1 is 2 rows of 8 bytes as sent, 4 rows of 4 bytes "
              "as received"));
  what = both({memory.data(), 4, 4, 4}, {{data.data(), 2, 4, 4}, {data.data(), 2, 4, 4}});
  CHECK(tells(what, "deliver round 3: rank 0 sends 2 regions to rank 1, which expects 1"));
  what = both({memory.data(), 4, 4, 4}, {{data.data(), 1, 4096, 4096}});
  CHECK(tells(what, "deliver round 3: rank 0 sends rank 1 more than the 48 bytes that it expects"));
  what = both({memory.data(), 1, 4096, 4096}, {{data.data(), 1, 16, 16}});
  CHECK(tells(what, "region 0 from rank 0 to rank 1 is 1 rows of 16 bytes as sent, 1 rows of 4096 bytes as received"));
}

TEST_CASE("ranks in different rounds, and peers that do not exist, are errors") {
  std::vector<std::byte> memory(8);
  std::string what = what_this_rank_throws(2, [&](transport& t) {
    rank_id const peer(1 - t.rank().value);
    exchange(t, queue::fetch, t.rank().value, {{peer, dense(std::as_const(memory))}}, {{peer, dense(memory)}});
    t.gather({}, {});
  });
  CHECK(tells(what, "is in fetch round "));
  CHECK(tells(what, "sends what belongs to round "));
  what = what_this_rank_throws(
      1, [&](transport& t) { exchange(t, queue::fetch, 0, {{rank_id(1), dense(std::as_const(memory))}}, {}); });
  CHECK(what == "fetch round 0: rank 0 exchanges with rank 1 in a group of 1");
  what = what_this_rank_throws(
      1, [&](transport& t) { exchange(t, queue::fetch, 0, {{rank_id(0), dense(std::as_const(memory))}}, {}); });
  CHECK(what == "fetch round 0: rank 0 sends 1 regions to itself and expects 0");
  what = what_this_rank_throws(2, [&](transport& t) {
    if (t.rank().value == 0) {
      static_cast<void>(t.start({queue::fetch, 0, {}, std::array{incoming{rank_id(1), dense(memory)}}}));
      static_cast<void>(t.start({queue::fetch, 1, {}, {}}));
    }
    t.gather({}, {});
  });
  CHECK(tells(what, "fetch round 1: rank 0 has not finished round 0"));
}

TEST_CASE("gathering different numbers of words, or into too few, is an error") {
  std::string what = what_this_rank_throws(2, [](transport& t) {
    std::vector<std::uint64_t> const mine(t.rank().value == 0 ? 1 : 300);
    std::vector<std::uint64_t> all(2 * mine.size());
    t.gather(mine, all);
  });
  CHECK(tells(what, "gather: "));
  pool_of const self(1);
  transport t(self.get());
  std::vector<std::uint64_t> all(3);
  CHECK_THROWS_WITH_AS(t.gather(std::span<std::uint64_t const>(all).first(2), all),
                       "gather into 3 words, expected 2 of each of 1 ranks", libra::input_error);
}

TEST_CASE("a transport needs a communicator and a timeout") {
  CHECK_THROWS_WITH_AS(transport{MPI_COMM_NULL}, "the communicator is MPI_COMM_NULL, expected the pool's",
                       libra::input_error);
  CHECK_THROWS_WITH_AS(transport(MPI_COMM_SELF, {.timeout = std::chrono::milliseconds(0)}),
                       "timeout is 0 ms, expected at least 1", libra::input_error);
}

}  // namespace
