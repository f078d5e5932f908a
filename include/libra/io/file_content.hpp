#pragma once

#include <libra/core/bytes.hpp>
#include <libra/core/error.hpp>
#include <libra/io/file.hpp>
#include <libra/io/in_quotes.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace libra {

/// The bytes of a file: mapped where it is a regular file, read where it is not (a pipe, standard input as "-").
///
/// A mapped file costs address space only; the system brings its pages in when they are touched and takes them back
/// when memory is short. Pre: nobody truncates the file meanwhile (the system would end the process: SIGBUS).
/// Errors: `input_error` naming the path and the system's reason.
class file_content {
 public:
  explicit file_content(std::string const& path) {
    struct stat info{};
    if (path != "-" && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
      map(path);
    } else {
      read_ = read_file(path);
    }
  }
  ~file_content() { unmap(); }
  file_content(file_content&& other) noexcept
      : mapped_(std::exchange(other.mapped_, {})),
        read_(std::move(other.read_)) {}
  file_content& operator=(file_content&& other) noexcept {
    unmap();
    mapped_ = std::exchange(other.mapped_, {});
    read_ = std::move(other.read_);
    return *this;
  }
  file_content(file_content const&) = delete;
  file_content& operator=(file_content const&) = delete;

  /// Stays where it is when the object is moved, if the file is mapped.
  [[nodiscard]] std::span<std::byte const> bytes() const noexcept {
    return is_mapped() ? std::span<std::byte const>(mapped_) : std::as_bytes(std::span(read_));
  }
  [[nodiscard]] std::string_view text() const noexcept { return text_of(bytes()); }
  [[nodiscard]] bool is_mapped() const noexcept { return mapped_.data() != nullptr; }

  /// Takes the mapped pages out of this process; what is touched again is mapped again.
  ///
  /// For a process whose resident memory is limited or measured: without it, pages stay until the system needs them.
  void drop_pages() const noexcept {
    if (is_mapped()) ::madvise(mapped_.data(), mapped_.size(), MADV_DONTNEED);
  }

 private:
  struct descriptor {
    int number;
    explicit descriptor(int n) noexcept : number(n) {}
    descriptor(descriptor const&) = delete;
    descriptor& operator=(descriptor const&) = delete;
    ~descriptor() {
      if (number >= 0) ::close(number);
    }
  };

  void map(std::string const& path) {
    descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info{};
    bool const opened = file.number >= 0 && ::fstat(file.number, &info) == 0;
    require(opened, "cannot read ", in_quotes(path, 400), ": ", detail::reason_of(errno));
    auto const size = static_cast<std::size_t>(info.st_size);
    if (size == 0) return;
    void* const first = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
    require(first != MAP_FAILED, "cannot map ", in_quotes(path, 400), ": ", detail::reason_of(errno));
    mapped_ = {static_cast<std::byte*>(first), size};
  }
  void unmap() noexcept {
    if (is_mapped()) ::munmap(mapped_.data(), mapped_.size());
  }

  std::span<std::byte> mapped_;
  std::string read_;
};

}  // namespace libra
