#include <libra/run/timeline.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <vector>

namespace {

using libra::op;
using libra::op_kind;
using libra::op_step;
using libra::op_time;
using libra::queue;

struct set_clock {
  using duration = std::chrono::seconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<set_clock>;
  inline static int seconds = 0;
  static time_point now() { return time_point(duration(seconds)); }
};

TEST_CASE("a timeline records when ops ran and how long the rank stood still for them") {
  op const fetch{.kind = op_kind::exchange, .on = queue::fetch, .round = 3, .after = {}, .items = {}, .receives = {}};
  op const attend{.kind = op_kind::attend, .on = queue::compute, .round = 0, .after = {}, .items = {}, .receives = {}};
  set_clock::seconds = 100;
  libra::timeline<set_clock> times;
  auto const at = [&](int seconds, op const& o, op_step step) {
    set_clock::seconds = 100 + seconds;
    times(o, step);
  };
  at(1, fetch, op_step::start);
  at(2, attend, op_step::start);
  at(5, attend, op_step::finish);
  at(5, fetch, op_step::wait);
  at(7, fetch, op_step::finish);
  REQUIRE(times.ops().size() == 2);
  op_time const f = times.ops()[0];
  CHECK(f.kind == op_kind::exchange);
  CHECK(f.on == queue::fetch);
  CHECK(f.round == 3);
  CHECK(f.start_seconds == 1);
  CHECK(f.end_seconds == 7);
  CHECK(f.blocked_seconds == 2);
  op_time const a = times.ops()[1];
  CHECK(a.kind == op_kind::attend);
  CHECK(a.start_seconds == 2);
  CHECK(a.end_seconds == 5);
  CHECK(a.blocked_seconds == 0);
}

TEST_CASE("the hidden share counts the time of exchanges in which the rank went on") {
  std::vector<op_time> const ops{{op_kind::exchange, queue::fetch, 0, 0, 10, 2},
                                 {op_kind::attend, queue::compute, 0, 0, 100, 0},
                                 {op_kind::exchange, queue::deliver, 0, 10, 20, 3}};
  CHECK(libra::hidden_share(ops) == doctest::Approx(0.75));
  CHECK(libra::hidden_share({}) == 1.0);
}

}  // namespace
