// Shows ThreadSanitizer how Synchronization.Mutex orders two threads that contend for it. That part of the Swift runtime is not built for
// the sanitizer. Without this file, the sanitizer reports a race for every value that a contended Mutex guards. An example is a counter in
// a Mutex that four threads increase. Scripts/check loads this library before the runtime. The sanitizer still finds real races.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self
extern void __tsan_acquire(void *) __attribute__((weak));
extern void __tsan_release(void *) __attribute__((weak));
// The methods of _MutexHandle, as the library exports them (Swift 6.3).
#define N "$s15Synchronization12_MutexHandleV"

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(N "9_lockSlowyys6UInt32VF");
SWIFT void lock_slow(uint32_t thread, SELF) {
    ((SWIFT void (*)(uint32_t, SELF))dlsym(RTLD_NEXT, N "9_lockSlowyys6UInt32VF"))(thread, self);
    if (__tsan_acquire) __tsan_acquire(self);
}
SWIFT void unlock_slow(SELF) __asm__(N "11_unlockSlowyyF");
SWIFT void unlock_slow(SELF) {
    if (__tsan_release) __tsan_release(self);
    ((SWIFT void (*)(SELF))dlsym(RTLD_NEXT, N "11_unlockSlowyyF"))(self);
}
SWIFT bool try_slow(SELF) __asm__(N "12_tryLockSlowSbyF");
SWIFT bool try_slow(SELF) {
    bool took = ((SWIFT bool (*)(SELF))dlsym(RTLD_NEXT, N "12_tryLockSlowSbyF"))(self);
    if (took && __tsan_acquire) __tsan_acquire(self);
    return took;
}
