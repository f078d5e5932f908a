#pragma once

#include <cstddef>
#include <memory>

namespace simt {

/// A function on a stack of its own that runs in turns with whoever resumes it.
///
/// It stays on the thread that started it. A fiber that is dropped before its function has returned runs no
/// destructors of that function.
class fiber {
 public:
  using body = void (*)(void*);

  fiber();
  ~fiber();
  fiber(fiber const&) = delete;
  fiber& operator=(fiber const&) = delete;

  /// Makes the next `resume` call `function(argument)` from its beginning.
  void start(body function, void* argument);
  /// Runs the function until it yields or returns. Pre: started, and not called from inside a fiber.
  void resume();
  /// Goes back to where the running fiber was resumed. Pre: called from inside a fiber.
  static void yield();

  [[nodiscard]] bool finished() const noexcept { return finished_; }

 private:
  struct stacks;
  static void enter();
  void leave_to_owner();

  std::unique_ptr<stacks> stacks_;
  body function_{};
  void* argument_{};
  bool finished_{true};
};

}  // namespace simt
