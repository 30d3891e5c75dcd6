// libpq, the C client of PostgreSQL (https://www.postgresql.org/docs/15/libpq.html).
#include <libpq-fe.h>
