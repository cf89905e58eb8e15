// With checks on, clang's thread sanitizer calls these for every load and store; no sanitizer runtime is linked.
#pragma once

// Constructors run before the device attaches; they touch no device memory.
#define SOFTMETAL_ACCESS(p, size, kind) \
  if (softmetal_runtime) softmetal_runtime->access(softmetal::current_lane(), p, size, kind, __builtin_return_address(0))

extern "C" {
#define SOFTMETAL_HOOK(name, size, kind)                                                                            \
  __attribute__((noinline, no_sanitize("thread"), visibility("hidden"))) void name(void *p) {                       \
    SOFTMETAL_ACCESS(p, size, kind);               \
  }
SOFTMETAL_HOOK(__tsan_read1, 1, 0) SOFTMETAL_HOOK(__tsan_read2, 2, 0) SOFTMETAL_HOOK(__tsan_read4, 4, 0)
SOFTMETAL_HOOK(__tsan_read8, 8, 0) SOFTMETAL_HOOK(__tsan_read16, 16, 0)
SOFTMETAL_HOOK(__tsan_write1, 1, 1) SOFTMETAL_HOOK(__tsan_write2, 2, 1) SOFTMETAL_HOOK(__tsan_write4, 4, 1)
SOFTMETAL_HOOK(__tsan_write8, 8, 1) SOFTMETAL_HOOK(__tsan_write16, 16, 1)
SOFTMETAL_HOOK(__tsan_unaligned_read2, 2, 2) SOFTMETAL_HOOK(__tsan_unaligned_read4, 4, 2)
SOFTMETAL_HOOK(__tsan_unaligned_read8, 8, 2) SOFTMETAL_HOOK(__tsan_unaligned_read16, 16, 2)
SOFTMETAL_HOOK(__tsan_unaligned_write2, 2, 3) SOFTMETAL_HOOK(__tsan_unaligned_write4, 4, 3)
SOFTMETAL_HOOK(__tsan_unaligned_write8, 8, 3) SOFTMETAL_HOOK(__tsan_unaligned_write16, 16, 3)
#undef SOFTMETAL_HOOK
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}

#define SOFTMETAL_QUIET __attribute__((noinline, no_sanitize("thread"), visibility("hidden")))
SOFTMETAL_QUIET void *__tsan_memcpy(void *d, const void *s, unsigned long n) {
  SOFTMETAL_ACCESS(s, n, 2);
  SOFTMETAL_ACCESS(d, n, 3);
  return __builtin_memcpy(d, s, n);
}
SOFTMETAL_QUIET void *__tsan_memmove(void *d, const void *s, unsigned long n) {
  SOFTMETAL_ACCESS(s, n, 2);
  SOFTMETAL_ACCESS(d, n, 3);
  return __builtin_memmove(d, s, n);
}
SOFTMETAL_QUIET void *__tsan_memset(void *d, int v, unsigned long n) {
  SOFTMETAL_ACCESS(d, n, 3);
  return __builtin_memset(d, v, n);
}
SOFTMETAL_QUIET void softmetal_note_atomic(void *p, unsigned long size, unsigned kind) {
  SOFTMETAL_ACCESS(p, size, kind);
}
__attribute__((noinline, used, nodebug, no_sanitize("thread"), visibility("hidden"))) void softmetal_flops(unsigned single, unsigned half_) {
  if (single) softmetal_runtime->count(softmetal::current_lane(), 3, single);
  if (half_) softmetal_runtime->count(softmetal::current_lane(), 4, half_);
}
#undef SOFTMETAL_QUIET
}
