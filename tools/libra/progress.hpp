#pragma once

#include <cstdint>
#include <string>

namespace libra::tools {

/// A progress bar on standard error, shown only where that is a terminal, and erased at the end.
class progress {
 public:
  progress(std::string what, std::int64_t steps);
  ~progress();
  progress(progress const&) = delete;
  progress& operator=(progress const&) = delete;

  /// One more step is done.
  void advance();

 private:
  void draw() const;

  std::string what_;
  std::int64_t steps_;
  std::int64_t done_{};
  std::int64_t drawn_{-1};
  bool terminal_;
};

}  // namespace libra::tools
