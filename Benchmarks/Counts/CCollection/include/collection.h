#pragma once

/// Starts to collect the instructions of every thread, once in a run. Does nothing outside callgrind.
void counts_start_collection(void);

/// Stops the collection and has callgrind write what it collected.
void counts_stop_collection(void);
