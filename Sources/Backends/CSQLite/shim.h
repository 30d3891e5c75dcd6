#pragma once
#include <sqlite3.h>

// Sets one of a connection's switches. sqlite3_db_config is variadic, and variadic functions are not imported into Swift.
static inline int localdata_set(sqlite3 *database, int option, int isOn) {
    return sqlite3_db_config(database, option, isOn, (int *)0);
}
