#include "simt/fiber.hpp"

#include <cstdint>
#include <cstdlib>

#if defined(__x86_64__)
#define SIMT_OWN_SWITCH 1
#else
#include <ucontext.h>
#define SIMT_OWN_SWITCH 0
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SIMT_ASAN 1
#endif

#ifdef SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if SIMT_OWN_SWITCH
// swapcontext asks the kernel for the signal mask each time, which is most of an emulated kernel's time.
extern "C" void libra_simt_switch(void** save, void* load);
asm(R"(
.text
.p2align 4
.globl libra_simt_switch
.type libra_simt_switch, @function
libra_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size libra_simt_switch, .-libra_simt_switch
)");
#endif

namespace simt {

namespace {

#ifdef SIMT_ASAN
constexpr std::size_t stack_bytes = std::size_t{256} << 10;  // redzones make frames large
#else
constexpr std::size_t stack_bytes = std::size_t{64} << 10;
#endif

thread_local fiber* running = nullptr;

}  // namespace

struct fiber::stacks {
  std::unique_ptr<std::byte[]> memory{new std::byte[stack_bytes]};
#if SIMT_OWN_SWITCH
  void* own{};
  void* owner{};
#else
  ucontext_t own{};
  ucontext_t owner{};
#endif
#ifdef SIMT_ASAN
  void* fake{};
  void* owner_fake{};
  void const* owner_bottom{};
  std::size_t owner_size{};
#endif
};

fiber::fiber() : stacks_(std::make_unique<stacks>()) {}
fiber::~fiber() = default;

void fiber::start(body function, void* argument) {
  function_ = function;
  argument_ = argument;
  finished_ = false;
#ifdef SIMT_ASAN
  // Frames of an abandoned function may have left their redzones behind.
  __asan_unpoison_memory_region(stacks_->memory.get(), stack_bytes);
  stacks_->fake = nullptr;
#endif
#if SIMT_OWN_SWITCH
  auto top = reinterpret_cast<std::uintptr_t>(stacks_->memory.get() + stack_bytes);
  top &= ~std::uintptr_t{15};
  auto* slot = reinterpret_cast<void**>(top);
  *--slot = nullptr;  // where a caller's return address would be
  *--slot = reinterpret_cast<void*>(&fiber::enter);
  for (int saved_register = 0; saved_register < 6; ++saved_register) {
    *--slot = nullptr;
  }
  stacks_->own = slot;
#else
  getcontext(&stacks_->own);
  stacks_->own.uc_stack.ss_sp = stacks_->memory.get();
  stacks_->own.uc_stack.ss_size = stack_bytes;
  stacks_->own.uc_link = nullptr;
  makecontext(&stacks_->own, &fiber::enter, 0);
#endif
}

void fiber::resume() {
  running = this;
#ifdef SIMT_ASAN
  __sanitizer_start_switch_fiber(&stacks_->owner_fake, stacks_->memory.get(), stack_bytes);
#endif
#if SIMT_OWN_SWITCH
  libra_simt_switch(&stacks_->owner, stacks_->own);
#else
  swapcontext(&stacks_->owner, &stacks_->own);
#endif
#ifdef SIMT_ASAN
  __sanitizer_finish_switch_fiber(stacks_->owner_fake, nullptr, nullptr);
#endif
  running = nullptr;
}

void fiber::leave_to_owner() {
#ifdef SIMT_ASAN
  // A null place to save to tells that this stack's frames are gone.
  __sanitizer_start_switch_fiber(finished_ ? nullptr : &stacks_->fake, stacks_->owner_bottom, stacks_->owner_size);
#endif
#if SIMT_OWN_SWITCH
  libra_simt_switch(&stacks_->own, stacks_->owner);
#else
  swapcontext(&stacks_->own, &stacks_->owner);
#endif
#ifdef SIMT_ASAN
  __sanitizer_finish_switch_fiber(stacks_->fake, &stacks_->owner_bottom, &stacks_->owner_size);
#endif
}

void fiber::enter() {
  fiber* const self = running;
#ifdef SIMT_ASAN
  __sanitizer_finish_switch_fiber(self->stacks_->fake, &self->stacks_->owner_bottom, &self->stacks_->owner_size);
#endif
  self->function_(self->argument_);
  self->finished_ = true;
  self->leave_to_owner();
  std::abort();  // a finished fiber is never resumed
}

void fiber::yield() { running->leave_to_owner(); }

}  // namespace simt
