// Starts and stops callgrind's collection for the whole process. `CALLGRIND_TOGGLE_COLLECT` would affect only the
// calling thread. Functions named on callgrind's command line would require instrumentation from the start of the
// program.
#include "collection.h"

// A build without valgrind's header collects nothing; `Scripts/setup --counts` installs the header.
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
