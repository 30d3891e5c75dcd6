// Starts and stops callgrind's count of instructions on all threads. The request `CALLGRIND_TOGGLE_COLLECT` would
// affect only the calling thread. Callgrind's command line could also name the functions to count. But callgrind would
// then instrument the program from its start, and not only in the measured phase.
#include "collection.h"

// A build without valgrind's header counts nothing; `Scripts/setup --counts` installs the header.
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_DUMP_STATS
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

void counts_start_collection(void) { CALLGRIND_START_INSTRUMENTATION; }

void counts_stop_collection(void) {
    CALLGRIND_DUMP_STATS;
    CALLGRIND_STOP_INSTRUMENTATION;
}
