#include "link.hpp"

#include "call.hpp"

#include <libra/core/error.hpp>

#include <algorithm>
#include <exception>
#include <thread>

namespace libra::mpi::detail {

namespace {

enum tag : int { fetch_tag, deliver_tag, gather_tag, failure_tag };

/// Waits between looks: at first only lets others have the core, then sleeps.
class patience {
 public:
  void rest() {
    constexpr int looks_before_sleep = 2000;
    if (++looks_ < looks_before_sleep) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  void renew() noexcept { looks_ = 0; }

 private:
  int looks_{};
};

}  // namespace

link::link(MPI_Comm pool, transport_options const& options)
    : timeout_(options.timeout),
      fetch_("fetch", fetch_tag),
      deliver_("deliver", deliver_tag),
      gather_("gather", gather_tag) {
  require(mpi_runs(), "MPI is not initialised, expected MPI_Init before and MPI_Finalize after every transport");
  require(pool != MPI_COMM_NULL, "the communicator is MPI_COMM_NULL, expected the pool's");
  require(timeout_.count() >= 1, "timeout is ", timeout_.count(), " ms, expected at least 1");
  check(MPI_Comm_dup(pool, &with_.comm), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(with_.comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(with_.comm, &with_.rank), "MPI_Comm_rank");
  check(MPI_Comm_size(with_.comm, &with_.ranks), "MPI_Comm_size");
  constexpr int block_bytes = 64;
  check(MPI_Type_contiguous(block_bytes, MPI_BYTE, &with_.block), "MPI_Type_contiguous");
  check(MPI_Type_commit(&with_.block), "MPI_Type_commit");
  auto const ranks = static_cast<std::size_t>(with_.ranks);
  with_.regions.resize(ranks);
  with_.bytes.resize(ranks);
  with_.at.resize(ranks);
  telling_.assign(ranks, MPI_REQUEST_NULL);
  listen();
}

link::~link() {
  MPI_Cancel(&ear_);
  MPI_Wait(&ear_, MPI_STATUS_IGNORE);
  MPI_Type_free(&with_.block);
  MPI_Comm_free(&with_.comm);
}

bool link::at_rest() const noexcept {
  return failed_ < 0 && !fetch_.is_open() && !deliver_.is_open() && !gather_.is_open();
}

void link::listen() {
  check(MPI_Irecv(heard_.data(), static_cast<int>(heard_.size()), MPI_CHAR, MPI_ANY_SOURCE, failure_tag, with_.comm,
                  &ear_),
        "MPI_Irecv");
}

template <class Body>
auto link::guarded(Body body) {
  throw_if_failed();
  try {
    return body();
  } catch (std::exception const& e) {
    abort(e.what());
    throw;
  }
}

std::int64_t link::start(exchange_round const& what) {
  return guarded([&] { return on(what.channel).open(with_, what.round, what.sends, what.receives); });
}

bool link::advance(queue in, std::int64_t sequence, bool block) {
  return guarded([&] { return on(in).has_finished(sequence) || finish(on(in), block); });
}

bool link::finish(lane& l, bool block) {
  patience waiting;
  auto since = clock::now();
  for (;;) {
    // Rounds of the other channels go on meanwhile: a peer may need theirs before it comes to this one.
    int const ended = fetch_.progress(with_) + deliver_.progress(with_) + gather_.progress(with_);
    if (!l.is_open()) {
      return true;
    }
    if (!block) {
      return false;
    }
    throw_if_failed();
    if (ended > 0) {
      waiting.renew();
      since = clock::now();
    } else if (clock::now() - since > timeout_) {
      throw run_error(message(l.name_of_round(), ": rank ", with_.rank, " has waited ", timeout_.count(),
                              " ms for rank ", l.waits_for()));
    } else {
      waiting.rest();
    }
  }
}

void link::gather(std::span<std::uint64_t const> mine, std::span<std::uint64_t> all) {
  guarded([&] {
    require(all.size() == mine.size() * static_cast<std::size_t>(with_.ranks), "gather into ", all.size(),
            " words, expected ", mine.size(), " of each of ", with_.ranks, " ranks");
    auto const bytes = static_cast<std::int64_t>(mine.size_bytes());
    to_all_.clear();
    from_all_.clear();
    for (std::int32_t r = 0; r < with_.ranks; ++r) {
      auto const theirs = std::as_writable_bytes(all.subspan(static_cast<std::size_t>(r) * mine.size(), mine.size()));
      to_all_.push_back({rank_id(r), {std::as_bytes(mine).data(), 1, bytes, bytes}});
      from_all_.push_back({rank_id(r), {theirs.data(), 1, bytes, bytes}});
    }
    gather_.open(with_, 0, to_all_, from_all_);
    finish(gather_, true);
  });
}

void link::abort(std::string_view reason) noexcept {
  if (failed_ < 0 && mpi_runs()) {
    fail(with_.rank, reason);
    tell_others();
  }
}

void link::fail(std::int32_t rank, std::string_view reason) noexcept {
  failed_ = rank;
  try {
    reason_ = reason;
  } catch (std::exception const&) {
    reason_.clear();  // Out of memory: that it failed matters more than why.
  }
}

void link::tell_others() noexcept {
  std::size_t const length = std::min(reason_.size(), said_.size());
  std::ranges::copy_n(reason_.begin(), static_cast<std::ptrdiff_t>(length), said_.begin());
  for (std::int32_t r = 0; r < with_.ranks; ++r) {
    if (r != with_.rank) {
      MPI_Isend(said_.data(), static_cast<int>(length), MPI_CHAR, r, failure_tag, with_.comm,
                &telling_[static_cast<std::size_t>(r)]);
    }
  }
  // So short a message needs nobody at the other end; but a full queue may hold it up for a moment.
  constexpr std::chrono::seconds long_enough(1);
  patience waiting;
  auto const since = clock::now();
  for (int done = 0; done == 0 && clock::now() - since < long_enough; waiting.rest()) {
    MPI_Testall(static_cast<int>(telling_.size()), telling_.data(), &done, MPI_STATUSES_IGNORE);
  }
}

void link::throw_if_failed() {
  if (failed_ < 0) {
    int heard = 0;
    MPI_Status status{};
    check(MPI_Test(&ear_, &heard, &status), "MPI_Test");
    if (heard != 0) {
      int length = 0;
      check(MPI_Get_count(&status, MPI_CHAR, &length), "MPI_Get_count");
      fail(status.MPI_SOURCE, std::string_view(heard_.data(), static_cast<std::size_t>(length)));
    }
  }
  if (failed_ >= 0) {
    throw run_error(failed_ == with_.rank ? reason_ : message("rank ", failed_, " failed: ", reason_));
  }
}

void retire::operator()(link* l) const noexcept {
  if (l->at_rest() && mpi_runs()) {
    delete l;
    return;
  }
  // Messages under way still use its buffers, and a communicator that not all ranks free is never free again.
  try {
    static auto& kept = *new std::vector<link*>();
    kept.push_back(l);
  } catch (std::exception const&) {
    return;  // Lost rather than freed under a message's feet.
  }
}

}  // namespace libra::mpi::detail
