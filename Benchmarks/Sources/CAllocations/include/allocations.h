#pragma once

/// How often memory was allocated since the process began: malloc, calloc, realloc and aligned blocks.
unsigned long bench_allocations(void);
