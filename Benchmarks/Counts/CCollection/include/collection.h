#pragma once

/// Starts to count the instructions of every thread. Call it once in a run. Outside callgrind it does nothing.
void counts_start_collection(void);

/// Stops the count and makes callgrind write the result.
void counts_stop_collection(void);
