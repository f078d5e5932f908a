#include <libra/model/transformer.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string_view>
#include <type_traits>

namespace {

static_assert(std::is_trivially_copyable_v<libra::transformer>);

TEST_CASE("every model that is built in is usable, named once and sourced") {
  std::set<std::string_view> names;
  for (libra::transformer const& t : libra::transformers) {
    CAPTURE(t.name);
    CHECK_NOTHROW(validate(t.shape));
    CHECK(t.layers >= 1);
    CHECK(t.hidden >= 1);
    CHECK(t.active_parameters >= 1);
    CHECK_FALSE(t.source.empty());
    CHECK(names.insert(t.name).second);
  }
}

TEST_CASE("the default model") {
  libra::transformer const& t = libra::qwen3_30b_a3b;
  CHECK(t.name == "qwen3-30b-a3b");
  CHECK(t.shape == libra::attention_shape{.q_heads = 32, .kv_heads = 4, .head_dim = 128, .mask = {}});
  CHECK(t.layers == 48);
  CHECK(t.hidden == 2048);
}

}  // namespace
