#pragma once

/// Returns how many blocks were allocated since the process started, with malloc, calloc, realloc or an aligned
/// allocation.
unsigned long bench_allocations(void);
