// Counts allocations. The functions below replace `malloc` and the other allocating functions of the C library in the
// whole process, including the Swift runtime. Each counts the call and forwards it to the C library. This works only on
// Linux with glibc, which also exports its functions as `__libc_malloc` and so on.
#include "allocations.h"
#include <stdatomic.h>
#include <stddef.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_ulong total;

static void counted(void) { atomic_fetch_add_explicit(&total, 1, memory_order_relaxed); }

unsigned long bench_allocations(void) { return atomic_load_explicit(&total, memory_order_relaxed); }

void *malloc(size_t size) { counted(); return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { counted(); return __libc_calloc(count, size); }
void *realloc(void *block, size_t size) { counted(); return __libc_realloc(block, size); }
void *memalign(size_t alignment, size_t size) { counted(); return __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { counted(); return __libc_memalign(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
    counted();
    *block = __libc_memalign(alignment, size);
    return *block ? 0 : 12; // ENOMEM
}
