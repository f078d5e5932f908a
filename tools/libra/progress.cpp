#include "progress.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace libra::tools {

namespace {
constexpr std::int64_t width = 40;
}

progress::progress(std::string what, std::int64_t steps)
    : what_(std::move(what)),
      steps_(std::max<std::int64_t>(1, steps)),
      terminal_(isatty(STDERR_FILENO) == 1) {
  if (terminal_) draw();
}

progress::~progress() {
  if (terminal_) std::fputs("\r\x1b[K", stderr);
}

void progress::advance() {
  ++done_;
  std::int64_t const filled = done_ * width / steps_;
  if (terminal_ && filled != drawn_) {
    drawn_ = filled;
    draw();
  }
}

void progress::draw() const {
  auto const filled = static_cast<std::size_t>(std::clamp<std::int64_t>(drawn_, 0, width));
  std::string const line = fmt::format("\r\x1b[K{} [{}{}] {}/{}", what_, std::string(filled, '#'),
                                       std::string(static_cast<std::size_t>(width) - filled, '.'), done_, steps_);
  std::fputs(line.c_str(), stderr);
}

}  // namespace libra::tools
