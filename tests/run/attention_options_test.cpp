#include <libra/run/attention_options.hpp>

#include <doctest/doctest.h>

#include <limits>

namespace {

using libra::attention_options;
using libra::validate;

TEST_CASE("the defaults and any finite scale are accepted") {
  CHECK_NOTHROW(validate(attention_options{}));
  CHECK_NOTHROW(validate(attention_options{.softmax_scale = 0.125F}));
  CHECK_NOTHROW(validate(attention_options{.softmax_scale = -1.0F}));
}

TEST_CASE("what is not supported is refused by its name") {
  auto const refused = [](attention_options const& options, char const* what) {
    CHECK_THROWS_WITH_AS(validate(options), what, libra::input_error);
  };
  refused({.dropout = 0.1F}, "dropout is 0.100000, expected 0: libra's attention is without it");
  refused({.logit_soft_cap = 30.0F}, "logit_soft_cap is 30.000000, expected 0: libra's attention is without it");
  refused({.attention_sinks = true}, "attention_sinks is true, expected false: libra's attention is without it");
  refused({.alibi = true}, "alibi is true, expected false: libra's attention is without it");
  refused({.softmax_scale = std::numeric_limits<float>::infinity()}, "softmax_scale is inf, expected a finite number");
}

}  // namespace
