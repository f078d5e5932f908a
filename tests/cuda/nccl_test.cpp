#include "conformance/cuda_ranks.hpp"
#include "cuda_double/control.hpp"

#include <libra/cuda/communicator.hpp>

#include <doctest/doctest.h>

#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace cuda = libra::cuda;

namespace {

using conformance::pool_plan;
using libra::op;
using libra::op_kind;
using libra::queue;
using ranks = conformance::fp32_nccl_ranks;

constexpr std::int32_t rank_count = 4;
constexpr auto soon = std::chrono::milliseconds(300);

std::shared_ptr<pool_plan const> small_plan() {
  conformance::pool_batch batch = conformance::busy_batch(rank_count);
  batch.shape = {4, 2, 16, {}};
  batch.home = {40, 1};
  batch.segments.front().what.length = 40;
  return conformance::plan(batch, libra::pooled{}, {.width = conformance::kernel_of<ranks>::width, .waves = 2});
}

std::string text_of(std::exception_ptr const& thrown) {
  if (!thrown) {
    return {};
  }
  try {
    std::rethrow_exception(thrown);
  } catch (std::exception const& e) {
    return e.what();
  }
}

/// Runs calls for good, until a rank cannot go on; what each rank threw.
template <class Before>
std::vector<std::string> what_ranks_throw(std::shared_ptr<pool_plan const> const& plan, Before before) {
  std::vector<std::string> texts;
  for (auto const& e : ranks{{.options = {.timeout = soon}}}.run_all(rank_count, [&](ranks::backend& parts) {
         libra::pooled_attention attention(parts, plan);
         for (int call = 0;; ++call) {
           ranks::device_call c(parts, plan->batch, attention.rank());
           before(attention.rank(), call);
           attention.forward(c.forward());
           static_cast<void>(c.results_as_float());
         }
       })) {
    texts.push_back(text_of(e));
  }
  return texts;
}

template <class... Guard>
concept sends_with = requires(ncclComm_t with, std::byte* data, cudaStream_t in, Guard const&... guard) {
  cuda::send(guard..., with, 0, data, std::int64_t{1}, in);
  cuda::receive(guard..., with, 0, data, std::int64_t{1}, in);
};
static_assert(sends_with<cuda::transfer_group>);
static_assert(!sends_with<>, "a transfer outside a group does not compile");

}  // namespace

TEST_CASE("a round takes one launch to gather what it sends and one to scatter what it received") {
  cuda_double::reset({.seed = 2});
  auto const plan = small_plan();
  std::size_t expected = 0;
  for (libra::program const& p : plan->forward.ranks) {
    expected += 1;  // the parameters
    for (op const& o : p.ops) {
      expected += o.items.size() > 0 ? 1U : 0U;
      expected += o.kind == op_kind::exchange && o.receives.size() > 0 ? 1U : 0U;
    }
  }
  std::barrier<> together(rank_count);
  std::size_t launched = 0;
  ranks{}(rank_count, [&](ranks::backend& parts) {
    libra::pooled_attention attention(parts, plan);
    ranks::device_call c(parts, plan->batch, attention.rank());
    attention.agree();
    together.arrive_and_wait();
    if (attention.rank() == libra::rank_id(0)) {
      launched = cuda_double::kernels_launched();
    }
    together.arrive_and_wait();
    attention.forward(c.forward());
    static_cast<void>(c.results_as_float());
    together.arrive_and_wait();
    if (attention.rank() == libra::rank_id(0)) {
      launched = cuda_double::kernels_launched() - launched;
    }
    together.arrive_and_wait();
  });
  CHECK(launched == expected);
}

TEST_CASE("communicators take no more blocks of a device than they are allowed") {
  cuda_double::reset({.seed = 1});
  static_cast<void>(ranks{{.options = {.max_ctas = 3}}}.run_all(2, [](ranks::backend&) {}));
  CHECK(cuda_double::most_ctas() == 3);
  CHECK_THROWS_WITH_AS(cuda::communicator(cuda::communicator::make_id(), 1, 0, {.max_ctas = 0}),
                       "max_ctas is 0, expected at least 1", libra::input_error);
}

TEST_CASE("a peer of another node gets as many channels as asked for, within the blocks that may be taken") {
  cuda_double::reset({.seed = 1});
  static_cast<void>(ranks{}.run_all(2, [](ranks::backend&) {}));
  CHECK(cuda_double::least_peer_channels() == cuda::communicator_options{}.peer_channels);
  cuda_double::reset({.seed = 1});
  static_cast<void>(ranks{{.options = {.max_ctas = 3, .peer_channels = 8}}}.run_all(2, [](ranks::backend&) {}));
  CHECK(cuda_double::least_peer_channels() == 3);
  CHECK_THROWS_WITH_AS(cuda::communicator(cuda::communicator::make_id(), 1, 0, {.peer_channels = 0}),
                       "peer_channels is 0, expected at least 1", libra::input_error);
}

TEST_CASE("a communicator is split into pools, in the order of keys, and doubled for the other direction") {
  cuda_double::reset({.seed = 3});
  {
    ncclUniqueId const id = cuda::communicator::make_id();
    std::vector<std::jthread> threads;
    for (std::int32_t r = 0; r < 6; ++r) {
      threads.emplace_back([id, r] {
        cuda::communicator const world(id, 6, r);
        CHECK(world.size() == 6);
        CHECK(world.rank() == r);
        auto const pool = cuda::communicator::split(world.get(), r == 5 ? -1 : r % 2, -r);
        if (r == 5) {
          CHECK(pool.get() == nullptr);
        } else {
          CHECK(pool.size() == (r % 2 == 0 ? 3 : 2));
          CHECK(pool.rank() == (r % 2 == 0 ? (4 - r) / 2 : (3 - r) / 2));
        }
      });
    }
  }
  CHECK(cuda_double::objects_alive() == 0);
}

TEST_CASE("ranks that do not come to join are not waited for beyond the timeout") {
  cuda_double::reset({});
  CHECK_THROWS_WITH_AS(
      cuda::communicator(cuda::communicator::make_id(), 2, 0, {.timeout = std::chrono::milliseconds(20)}),
      doctest::Contains("other ranks did not come within 20 ms"), cuda::error);
  CHECK_THROWS_AS(cuda::communicator(cuda::communicator::make_id(), 2, 2), libra::input_error);
  CHECK(cuda_double::objects_alive() == 0);
}

TEST_CASE("ranks that do not come to split are not waited for beyond the timeout") {
  cuda_double::reset({.seed = 4});
  ncclUniqueId const id = cuda::communicator::make_id();
  {
    std::vector<std::jthread> threads;
    for (std::int32_t r = 0; r < 2; ++r) {
      threads.emplace_back([id, r] {
        cuda::communicator world(id, 2, r);
        if (r == 0) {
          CHECK_THROWS_WITH_AS(
              static_cast<void>(
                  cuda::communicator::split(world.get(), 0, r, {.timeout = std::chrono::milliseconds(20)})),
              doctest::Contains("ncclCommSplit failed: no answer (other ranks did not come within 20 ms"), cuda::error);
        }
        world.abort();
      });
    }
  }
  CHECK(cuda_double::objects_alive() == 0);
  CHECK_THROWS_WITH_AS(static_cast<void>(cuda::communicator::split(nullptr, 0, 0)), "the communicator to split is null",
                       libra::input_error);
}

TEST_CASE("a pool of the trainer's own communicator leaves it to the trainer") {
  cuda_double::reset({.seed = 6});
  auto const plan = small_plan();
  ncclUniqueId const id = cuda::communicator::make_id();
  {
    std::vector<std::jthread> threads;
    for (std::int32_t r = 0; r < rank_count; ++r) {
      threads.emplace_back([&, r] {
        cuda::device_scope const device(r);
        cuda::communicator const trainers(id, rank_count, r);
        {
          auto deliver = cuda::communicator::split(trainers.get(), 0, r);
          ranks::backend parts(cuda::communicator::refer_to(trainers.get()), std::move(deliver), r);
          libra::pooled_attention attention(parts, plan);
          ranks::device_call c(parts, plan->batch, attention.rank());
          attention.forward(c.forward());
          attention.backward(c.backward());
          static_cast<void>(c.results_as_float());
        }
        // Still there, and still good for a split, which all its ranks take part in.
        CHECK(trainers.size() == rank_count);
        CHECK(cuda::communicator::split(trainers.get(), 0, r).size() == rank_count);
      });
    }
  }
  CHECK(cuda_double::finding() == "");
  CHECK(cuda_double::objects_alive() == 0);
  CHECK_THROWS_WITH_AS(static_cast<void>(cuda::communicator::refer_to(nullptr)), "the communicator to refer to is null",
                       libra::input_error);
}

TEST_CASE("an error that NCCL reports while a rank waits for nothing ends both communicators, and every call says so") {
  cuda_double::reset({.seed = 7});
  ncclUniqueId const id = cuda::communicator::make_id();
  {
    cuda::communicator fetch(id, 1, 0);
    auto deliver = cuda::communicator::split(fetch.get(), 0, 0);
    ranks::backend parts(std::move(fetch), std::move(deliver), 0);
    parts.synchronize();
    cuda_double::break_connections();
    std::string what;
    for (auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
         what.empty() && std::chrono::steady_clock::now() < end;
         std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
      try {
        parts.synchronize();
      } catch (libra::run_error const& e) {
        what = e.what();
      }
    }
    CAPTURE(what);
    CHECK(what.starts_with("rank 0: NCCL failed: "));
    CHECK(what.find("remote process exited") != std::string::npos);
    CHECK_THROWS_WITH_AS(parts.synchronize(), what.c_str(), libra::run_error);
  }
  CHECK(cuda_double::objects_alive() == 0);
}

TEST_CASE("a rank that dies makes every other rank throw within the timeout, naming a round") {
  cuda_double::reset({.seed = 5});
  auto const began = std::chrono::steady_clock::now();
  auto const thrown = what_ranks_throw(small_plan(), [](libra::rank_id rank, int call) {
    if (rank == libra::rank_id(1) && call == 1) {
      throw std::domain_error("the planted failure");
    }
  });
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(60));
  for (std::int32_t r = 0; r < rank_count; ++r) {
    std::string const& what = thrown[static_cast<std::size_t>(r)];
    CAPTURE(what);
    if (r == 1) {
      CHECK(what == "the planted failure");
    } else {
      CHECK(what.starts_with(libra::message("rank ", r, ": ")));
      CHECK(what.find(" round ") != std::string::npos);
      CHECK(what.find("has not ended within 300 ms") != std::string::npos);
    }
  }
  CHECK(cuda_double::objects_alive() == 0);
}

TEST_CASE("a rank that takes longer than the timeout finds its pool gone, as every other rank does") {
  cuda_double::reset({.seed = 9});
  auto const thrown = what_ranks_throw(small_plan(), [](libra::rank_id rank, int call) {
    if (rank == libra::rank_id(2) && call == 1) {
      std::this_thread::sleep_for(5 * soon);
    }
  });
  for (std::int32_t r = 0; r < rank_count; ++r) {
    std::string const& what = thrown[static_cast<std::size_t>(r)];
    CAPTURE(what);
    CHECK(what.starts_with(libra::message("rank ", r, ": ")));
    CHECK(what.find(" round ") != std::string::npos);
    CHECK(what.find("has not ended within 300 ms") != std::string::npos);
  }
  // Both of every rank.
  CHECK(cuda_double::communicators_aborted() == 2 * rank_count);
  CHECK(cuda_double::objects_alive() == 0);
}

TEST_CASE("planted: rounds enqueued in another order end as an error or a timeout that names the round") {
  auto plan = std::make_shared<pool_plan>(*small_plan());
  std::vector<op*> rounds;
  for (op& o : plan->forward.ranks[0].ops) {
    if (o.kind == op_kind::exchange && o.on == queue::fetch) {
      rounds.push_back(&o);
    }
  }
  REQUIRE(rounds.size() >= 2);
  std::swap(rounds[0]->items, rounds[1]->items);
  std::swap(rounds[0]->receives, rounds[1]->receives);
  cuda_double::reset({.seed = 8});
  auto const thrown = what_ranks_throw(plan, [](libra::rank_id, int) {});
  for (std::string const& what : thrown) {
    CAPTURE(what);
    CHECK(what.starts_with("rank "));
    CHECK(what.find(" round ") != std::string::npos);
  }
}
