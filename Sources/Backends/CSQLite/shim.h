#pragma once
#include <sqlite3.h>

// Sets a Boolean option of a connection. Swift does not import variadic functions such as sqlite3_db_config.
static inline int localdata_set(sqlite3 *database, int option, int isOn) {
    return sqlite3_db_config(database, option, isOn, (int *)0);
}

// Reads a number of 4 bytes in the byte order of the write-ahead log.
static inline unsigned int localdata_number(const unsigned char *bytes, int isBigEndian) {
    return isBigEndian ? (unsigned int)bytes[0] << 24 | (unsigned int)bytes[1] << 16 | (unsigned int)bytes[2] << 8 | bytes[3]
                       : (unsigned int)bytes[3] << 24 | (unsigned int)bytes[2] << 16 | (unsigned int)bytes[1] << 8 | bytes[0];
}

// Reads the first 100 bytes of a database: application id, format, page size and number of pages. Layout:
// sqlite.org/fileformat2.html, "The Database Header". Fails with SQLITE_NOTFOUND unless these bytes alone have the state
// that a new read transaction sees: the database has a write-ahead log, the log contains nothing, and no process wrote to it
// during the call. The layout of the log's index is described at localdata_log_has_rest.
static inline int localdata_header(sqlite3 *database, unsigned char bytes[100]) {
    sqlite3_file *file = 0;
    void volatile *map = 0;
    unsigned char index[2][48];
    unsigned int last;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK) return code;
    if (!file || !file->pMethods || file->pMethods->iVersion < 2) return SQLITE_NOTFOUND;
    // Without this check, the request for the index would create an index for a database that has no log.
    code = file->pMethods->xRead(file, bytes, 100, 0);
    if (code != SQLITE_OK || bytes[18] != 2 || bytes[19] != 2) return SQLITE_NOTFOUND;
    code = file->pMethods->xShmMap(file, 0, 32768, 0, &map);
    if ((code != SQLITE_OK && code != SQLITE_READONLY) || !map) return SQLITE_NOTFOUND;
    for (int time = 0; time < 2; time++) {
        file->pMethods->xShmBarrier(file);
        for (int i = 0; i < 48; i++) index[time][i] = ((unsigned char volatile *)map)[i];
        if (time == 0) code = file->pMethods->xRead(file, bytes, 100, 0);
    }
    __builtin_memcpy(&last, index[0] + 16, 4);
    const int isEmpty = index[0][12] && last == 0 && !__builtin_memcmp(index[0], index[1], 48);
    // The number of pages is valid if both counters of changes are equal.
    const int isValid = code == SQLITE_OK && !__builtin_memcmp(bytes + 24, bytes + 92, 4) && bytes[16] == 16 && bytes[17] == 0;
    return isEmpty && isValid ? SQLITE_OK : SQLITE_NOTFOUND;
}

// Continues a checksum of the write-ahead log over more bytes. Source: sqlite.org/fileformat2.html, "Checksum
// Algorithm".
static inline void localdata_checksum(const unsigned char *bytes, int count, int isBigEndian, unsigned int sum[2]) {
    for (int i = 0; i < count; i += 8) {
        sum[0] += localdata_number(bytes + i, isBigEndian) + sum[1];
        sum[1] += localdata_number(bytes + i + 4, isBigEndian) + sum[0];
    }
}

// Sets hasRest to 1 if the write-ahead log contains a complete transaction that its index does not contain. Such a
// transaction comes from a process that wrote it to the log, but did not enter it in the index. The process was killed
// in between, or its flush of the log failed. Recovery, which rebuilds the index, would apply this transaction.
//
// Layout of the log: sqlite.org/fileformat2.html, "The WAL File Format". The log begins with a header of 32 bytes.
// Frames follow: a frame header of 24 bytes, and a page. A frame header has the page number, the database size (0
// except at the end of a transaction), the salts, and the checksum of the log so far. Layout of the index:
// sqlite.org/walformat.html, "The WAL-Index Header". The page size begins at byte 14, the number of the last frame at
// byte 16, and that frame's checksum at byte 24.
//
// The answer is exact inside a write transaction of this connection, because then no other process changes the log or
// the index. At other times, another process may be in the middle of a commit. If that transaction is complete in the
// log and not yet in the index, hasRest is also 1. Returns an SQLite result code.
static inline int localdata_log_has_rest(sqlite3 *database, int *hasRest) {
    sqlite3_file *file = 0, *log = 0;
    void volatile *map = 0;
    *hasRest = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code == SQLITE_OK) code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (code != SQLITE_OK) return code;
    if (!file || !file->pMethods || file->pMethods->iVersion < 2 || !log || !log->pMethods) return SQLITE_MISUSE;
    code = file->pMethods->xShmMap(file, 0, 32768, 0, &map);
    // SQLITE_READONLY means that this program cannot write the index. SQLite has mapped the index nevertheless.
    if (code == SQLITE_READONLY) code = SQLITE_OK;
    // No process can write the index. The connection then makes an index in its memory, from the whole log.
    if (code == SQLITE_READONLY_CANTINIT) return SQLITE_OK;
    if (code != SQLITE_OK || !map) return code;
    unsigned char index[32], head[32], frame[24], page[4096];
    for (int i = 0; i < 32; i++) index[i] = ((unsigned char volatile *)map)[i];
    // The index is in the byte order of the machine.
    unsigned short size;
    unsigned int last, sum[2];
    __builtin_memcpy(&size, index + 14, 2);
    __builtin_memcpy(&last, index + 16, 4);
    __builtin_memcpy(sum, index + 24, 8);
    // Every database of LocalData has pages of 4,096 bytes.
    if (last > 0 && size != sizeof page) return SQLITE_CORRUPT;
    code = log->pMethods->xRead(log, head, sizeof head, 0);
    if (code != SQLITE_OK) return code == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : code;
    const int isBigEndian = head[3] & 1;
    if (last == 0) {
        if (localdata_number(head + 8, 1) != sizeof page) return SQLITE_OK;
        for (int i = 0; i < 2; i++) sum[i] = localdata_number(head + 24 + 4 * i, 1);
    }
    for (sqlite3_int64 offset = 32 + last * (sqlite3_int64)(sizeof frame + sizeof page);; offset += sizeof frame + sizeof page) {
        code = log->pMethods->xRead(log, frame, sizeof frame, offset);
        if (code != SQLITE_OK) return code == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : code;
        // A frame that was written before the log was last restarted has other salts than the header.
        for (int i = 0; i < 8; i++) if (frame[8 + i] != head[16 + i]) return SQLITE_OK;
        code = log->pMethods->xRead(log, page, sizeof page, offset + sizeof frame);
        if (code != SQLITE_OK) return code == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : code;
        localdata_checksum(frame, 8, isBigEndian, sum);
        localdata_checksum(page, sizeof page, isBigEndian, sum);
        // The checksum covers all earlier frames. If one of them was overwritten, the checksum of an old frame after
        // it does not match.
        for (int i = 0; i < 2; i++) if (localdata_number(frame + 16 + 4 * i, 1) != sum[i]) return SQLITE_OK;
        if (localdata_number(frame + 4, 1) != 0) {
            *hasRest = 1;
            return SQLITE_OK;
        }
    }
}
