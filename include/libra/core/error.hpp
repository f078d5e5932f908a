#pragma once

#include <libra/core/wide.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace libra {

/// What every exception thrown by libra can be caught as, beside its standard base.
///
/// The message names the value, its place (index, option, file and line) and what was expected.
class error {
 public:
  virtual ~error() = default;
  /// The text that the standard base's `what()` also returns.
  [[nodiscard]] virtual char const* message() const noexcept = 0;

 protected:
  error() = default;
  error(error const&) = default;
  error& operator=(error const&) = default;
};

/// A caller's mistake or bad data: a length, a layout, a shape that cannot be used.
class input_error : public std::invalid_argument, public error {
 public:
  explicit input_error(std::string const& text) : std::invalid_argument(text) {}
  [[nodiscard]] char const* message() const noexcept override { return what(); }
};

/// Work beyond what the integers of a decision can hold; the message carries the operands.
class range_error : public std::overflow_error, public error {
 public:
  explicit range_error(std::string const& text) : std::overflow_error(text) {}
  [[nodiscard]] char const* message() const noexcept override { return what(); }
};

/// A failure while running: another rank, a device, a network, a program that breaks an invariant.
class run_error : public std::runtime_error, public error {
 public:
  explicit run_error(std::string const& text) : std::runtime_error(text) {}
  [[nodiscard]] char const* message() const noexcept override { return what(); }
};

namespace detail {

inline void append(std::string& text, std::string_view part) { text += part; }

template <class Integer>
  requires(std::is_integral_v<Integer> || std::is_same_v<Integer, int128>)
void append(std::string& text, Integer part) {
  if constexpr (std::is_same_v<Integer, char>) {
    text += part;
  } else {
    text += to_string(static_cast<int128>(part));
  }
}

}  // namespace detail

/// Joins text and integers of any width into one message.
template <class... Part>
[[nodiscard]] std::string message(Part const&... part) {
  std::string text;
  (detail::append(text, part), ...);
  return text;
}

/// Throws `input_error` with the joined parts unless `holds`; the parts are only formatted on failure.
template <class... Part>
constexpr void require(bool holds, Part const&... part) {
  if (!holds) {
    throw input_error(message(part...));
  }
}

}  // namespace libra
