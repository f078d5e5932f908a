#pragma once

namespace libra {

/// What a kernel calls now and then during long work, so that exchanges go on meanwhile: a function and its state.
///
/// It neither owns nor allocates; made without a function it does nothing. What it throws, the kernel passes on.
class progress_hook {
 public:
  constexpr progress_hook() = default;
  /// Pre: `body` outlives the hook.
  template <class Body>
  constexpr explicit progress_hook(Body& body) noexcept
      : state_(&body),
        call_([](void* state) { (*static_cast<Body*>(state))(); }) {}

  constexpr void operator()() const {
    if (call_ != nullptr) {
      call_(state_);
    }
  }

 private:
  void* state_{};
  void (*call_)(void*){};
};

}  // namespace libra
