#include <libra/model/shape.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

using libra::attention_shape;

static_assert(std::is_trivially_copyable_v<attention_shape>);

TEST_CASE("query heads per key/value head") {
  CHECK(attention_shape{.q_heads = 32, .kv_heads = 4}.group() == 8);
  CHECK(attention_shape{.q_heads = 28, .kv_heads = 4}.group() == 7);
  CHECK(attention_shape{.q_heads = 7, .kv_heads = 7}.group() == 1);
  CHECK(attention_shape{.q_heads = 6, .kv_heads = 1}.group() == 6);
}

TEST_CASE("each extent is refused by name and value") {
  auto const refused = [](attention_shape const& s, char const* why) {
    CHECK_THROWS_WITH_AS(validate(s), why, libra::input_error);
  };
  refused({.q_heads = 0, .kv_heads = 1}, "q_heads is 0, expected at least 1");
  refused({.q_heads = 4, .kv_heads = 0}, "kv_heads is 0, expected at least 1");
  refused({.q_heads = 28, .kv_heads = 5}, "kv_heads is 5, expected a divisor of q_heads 28");
  refused({.q_heads = 4, .kv_heads = 8}, "kv_heads is 8, expected a divisor of q_heads 4");
  refused({.head_dim = 8}, "head_dim is 8, expected 16 to 256 in steps of 8");
  refused({.head_dim = 100}, "head_dim is 100, expected 16 to 256 in steps of 8");
  refused({.head_dim = 264}, "head_dim is 264, expected 16 to 256 in steps of 8");
  refused({.mask = {libra::mask_kind::window, 0}}, "attention window is 0 tokens, expected at least 1");
}

TEST_CASE("every head dimension from 16 to 256 in steps of 8 is accepted, no other") {
  for (int dim = -8; dim <= 300; ++dim) {
    attention_shape const s{.head_dim = dim};
    CAPTURE(dim);
    if (dim >= 16 && dim <= 256 && dim % 8 == 0) {
      CHECK_NOTHROW(validate(s));
    } else {
      CHECK_THROWS_AS(validate(s), libra::input_error);
    }
  }
}

}  // namespace
