#pragma once

#include <libra/core/error.hpp>
#include <libra/io/file_content.hpp>
#include <libra/io/length_format.hpp>
#include <libra/io/lengths_npy.hpp>
#include <libra/io/megatron_index.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

namespace libra {

/// The lengths in a Megatron-LM .idx or a NumPy .npy file, read where they are: a list of any size costs no memory.
///
/// A length source of the sampler (sample/length_source.hpp). Reading is safe from several threads.
class mapped_lengths {
 public:
  /// Checks the whole file once, page by page. Complexity: linear.
  ///
  /// Errors: `input_error` naming the path: no regular file, another format, or what is wrong at which byte.
  explicit mapped_lengths(std::string const& path) : content_(path), view_(viewed(content_, path)) {}

  /// Documents (sequences of an .idx).
  [[nodiscard]] std::int64_t size() const noexcept {
    auto const* const index = std::get_if<megatron_index>(&view_);
    return index != nullptr ? index->size() : std::get_if<npy_lengths>(&view_)->size();
  }
  /// Tokens of document `i`; 0 for an empty one. Pre: `0 <= i < size()`.
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const noexcept {
    auto const* const index = std::get_if<megatron_index>(&view_);
    return index != nullptr ? (*index)[i] : (*std::get_if<npy_lengths>(&view_))[i];
  }
  /// Takes the file's pages out of this process; see `file_content::drop_pages`.
  void drop_pages() const noexcept { content_.drop_pages(); }

 private:
  using any_view = std::variant<megatron_index, npy_lengths>;

  [[nodiscard]] static any_view viewed(file_content const& content, std::string const& path) {
    require(content.is_mapped(), path, ": cannot be mapped, expected a regular file that is not empty");
    length_format const format = recognise(content.text(), path).format;
    auto const forget = [&] { content.drop_pages(); };
    if (format == length_format::megatron_index) return megatron_index(content.bytes(), path, forget);
    require(format == length_format::npy, path, ": is neither a Megatron-LM .idx nor an .npy, which can be mapped");
    return npy_lengths(content.bytes(), path, forget);
  }

  file_content content_;
  any_view view_;
};

}  // namespace libra
