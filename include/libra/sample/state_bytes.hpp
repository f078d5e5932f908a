#pragma once

#include <libra/core/bytes.hpp>
#include <libra/core/digest.hpp>
#include <libra/core/error.hpp>
#include <libra/sample/state.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace libra {
namespace detail {

inline constexpr std::string_view state_magic{"LIBRASMP", 8};

/// Visits the fields of a state in the order in which its bytes hold them.
template <class State, class Visit>
void for_each_field(State& state, Visit&& visit) {
  auto const run = [&](auto& s) {
    visit("document", s.document.value);
    visit("offset", s.offset);
    visit("length", s.length);
  };
  visit("documents", state.stream.documents);
  visit("lengths", state.stream.lengths.high);
  visit("lengths", state.stream.lengths.low);
  visit("seed", state.stream.seed);
  visit("shuffle", state.stream.shuffle);
  visit("window", state.stream.window_tokens);
  visit("packer", state.stream.packer);
  visit("overlong", state.stream.when_overlong);
  visit("epoch_end", state.stream.at_end);
  visit("epoch", state.position.epoch);
  visit("batch", state.position.batch);
  visit("consumed_samples", state.position.consumed_samples);
  visit("consumed_sequences", state.position.consumed_sequences);
  run(state.position.rest);
  visit("carried", state.position.carried);
  for (auto& s : state.position.carried) run(s);
}

[[nodiscard]] inline digest digest_of_bytes(std::string_view bytes) noexcept { return hasher().add(bytes).finish(); }

class state_writer {
 public:
  explicit state_writer(std::string& out) : out_(&out) {}
  template <std::integral Integer>
  void operator()(std::string_view, Integer value) {
    if constexpr (std::same_as<Integer, bool>) {
      append_little_endian(*out_, static_cast<std::uint8_t>(value));
    } else {
      append_little_endian(*out_, value);
    }
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void operator()(std::string_view, Enum value) {
    append_little_endian(*out_, static_cast<std::uint8_t>(value));
  }
  void operator()(std::string_view, std::string const& text) {
    append_little_endian(*out_, static_cast<std::uint32_t>(text.size()));
    *out_ += text;
  }
  void operator()(std::string_view, std::vector<segment> const& all) {
    append_little_endian(*out_, static_cast<std::uint64_t>(all.size()));
  }

 private:
  std::string* out_;
};

class state_reader {
 public:
  explicit state_reader(std::span<std::byte const> bytes) : bytes_(bytes) {}

  template <std::integral Integer>
  void operator()(std::string_view field, Integer& value) {
    if constexpr (std::same_as<Integer, bool>) {
      value = choice(field, 2) == 1;
    } else {
      value = load_little_endian<Integer>(take(field, sizeof(Integer)));
    }
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void operator()(std::string_view field, Enum& value) {
    value = static_cast<Enum>(choice(field, 3));
  }
  void operator()(std::string_view field, std::string& text) {
    std::uint32_t size{};
    (*this)(field, size);
    text = text_of({take(field, size), size});
  }
  void operator()(std::string_view field, std::vector<segment>& all) {
    std::uint64_t size{};
    (*this)(field, size);
    // Before memory is asked for: each has three integers.
    require(size <= (bytes_.size() - at_) / 24, "sampler state: byte ", at_, ": ", field, " holds ", size,
            " entries, but only ", bytes_.size() - at_, " bytes follow");
    all.resize(static_cast<std::size_t>(size));
  }
  void finish() const {
    require(at_ == bytes_.size(), "sampler state: byte ", at_, ": ", bytes_.size() - at_, " bytes follow its end");
  }

 private:
  std::byte const* take(std::string_view field, std::size_t size) {
    require(size <= bytes_.size() - at_, "sampler state: byte ", bytes_.size(), ": ends in ", field);
    std::byte const* const first = bytes_.data() + at_;
    at_ += size;
    return first;
  }
  std::uint8_t choice(std::string_view field, std::uint8_t choices) {
    auto const value = load_little_endian<std::uint8_t>(take(field, 1));
    require(value < choices, "sampler state: byte ", at_ - 1, ": ", field, " is ", int{value}, ", expected 0 to ",
            choices - 1);
    return value;
  }

  std::span<std::byte const> bytes_;
  std::size_t at_{0};
};

}  // namespace detail

/// A state as bytes, the same on every platform. Integers are little-endian.
///
/// Magic (8), version (uint32), the fields in the order of `for_each_field`, and a digest (16) of all before it.
[[nodiscard]] inline std::string to_bytes(sampler_state const& state) {
  std::string bytes(detail::state_magic);
  append_little_endian(bytes, state.version);
  detail::for_each_field(state, detail::state_writer(bytes));
  digest const sum = detail::digest_of_bytes(bytes);
  append_little_endian(bytes, sum.high);
  append_little_endian(bytes, sum.low);
  return bytes;
}

/// The state that `to_bytes` made these bytes of.
///
/// Errors: `input_error` naming the byte, what is there and what was expected: no state, another version, a state that
/// is cut off or damaged.
[[nodiscard]] inline sampler_state state_from_bytes(std::span<std::byte const> bytes) {
  std::string_view const text = text_of(bytes);
  std::size_t const head = detail::state_magic.size();
  require(text.starts_with(detail::state_magic), "sampler state: byte 0: magic is none, expected 'LIBRASMP'");
  require(bytes.size() >= head + 4 + 16, "sampler state: byte ", bytes.size(), ": ends in its header");
  sampler_state state;
  state.version = load_little_endian<std::uint32_t>(bytes.data() + head);
  require(state.version == sampler_state::current_version, "sampler state: byte ", head, ": version is ", state.version,
          ", expected ", sampler_state::current_version);
  std::size_t const end = bytes.size() - 16;
  digest const sum{load_little_endian<std::uint64_t>(bytes.data() + end),
                   load_little_endian<std::uint64_t>(bytes.data() + end + 8)};
  require(sum == detail::digest_of_bytes(text.substr(0, end)), "sampler state: byte ", end, ": digest is ", to_hex(sum),
          ", expected ", to_hex(detail::digest_of_bytes(text.substr(0, end))), ": the bytes are damaged or cut off");
  detail::state_reader reader(bytes.subspan(head + 4, end - head - 4));
  detail::for_each_field(state, reader);
  reader.finish();
  return state;
}

}  // namespace libra
