// A library that the dynamic linker loads before the C library. It counts the calls with which a program uses the files under one
// folder. At one of these calls, it kills the program, transfers only a part of the bytes, or makes the call fail. Or it records
// all changes of the files.
//
//   FAULT_ROOT    the folder, without a link in its path
//   FAULT_PLAN    count             only counts
//                 kill N            SIGKILL before the Nth change
//                 tear N            SIGKILL at the Nth change; if the change is a write, half of its bytes are written before
//                 fail N E SPAN KINDS  a call fails with the error number E: the Nth call, or the first later one if the Nth has none
//                                   of these kinds (separated by commas). SPAN is `once` (only this call fails), `on` (every later
//                                   call of these kinds fails, too) or `lifted` (as `on`, until the program calls `fault_lift`)
//                 short N           the Nth call, or the first later one that reads or writes, transfers only half of the bytes
//                 record N          records every change with its bytes; SIGKILL before the Nth change, unless N is 0
//                 drop N SPAN PAGES records as `record 0`. The Nth flush fails with EIO, and the bytes that it should have written
//                                   are lost: a later flush succeeds without them. SPAN: `once`; `on` and `lifted` as above; `killed`
//                                   (SIGKILL before the next change). PAGES: `kept` (later reads return the new content, as in ext4
//                                   and XFS) or `reverted` (they return the content of the disk, as in Btrfs). If the flush was that
//                                   of a folder, every later change fails with EROFS, because the journal of the file system has
//                                   failed
//   FAULT_LOG     the file that this library writes. `count` writes a line for each call, `record` and `drop` write every change, and the
//                 other plans write one line when the fault happens
//   FAULT_SOCKETS if it is set, messages to other processes are counted as well, as changes
//   FAULT_IGNORE  a planted mistake, which the search must notice. For `record` and `drop`: `directories` or `logs`. Flushes of folders,
//                 or of write-ahead logs, are then made but not recorded. For `drop`: `retries`. Flushes that fail then report success
//
// A change is a flush, or a call that can alter what is on the disk. Calls of another process, or outside of the folder, are not counted.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { OPEN, OPEN_TO_WRITE, CREATE, READ, WRITE, SYNC, NAME, RESIZE, MODE, LOOK, LOCK, LIST, MAP, SEND, KINDS };
static const char *const kind_names[KINDS] = {
    "open", "open-to-write", "create", "read", "write", "sync", "name", "resize", "mode", "look", "lock", "list", "map", "send"};

static enum { NOTHING, COUNT, KILL, TEAR, FAIL, SHORT, RECORD, DROP } plan;
static long target;
static int fault;
static char failing_kinds[160];
static enum { ONCE, ON, LIFTED, KILLED } span;
static char root[PATH_MAX];
static size_t root_length;
static int log_file = -1;
static long calls, changes, flushes;
static int has_fired, is_lifted;
// For `drop`: whether pages are reverted, and whether a failed flush of a folder has made the file system read-only.
static int reverts, is_sealed;
static const char *ignored = "";
static int counts_messages;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("FAULT_ROOT"), *text = getenv("FAULT_PLAN"), *path = getenv("FAULT_LOG");
    if (!folder || !text) return;
    snprintf(root, sizeof root, "%s", folder);
    root_length = strlen(root);
    char word[16] = "", length[16] = "";
    sscanf(text, "%15s %ld %d %15s %159s", word, &target, &fault, length, failing_kinds);
    plan = !strcmp(word, "count") ? COUNT : !strcmp(word, "kill") ? KILL : !strcmp(word, "tear") ? TEAR : !strcmp(word, "fail") ? FAIL
        : !strcmp(word, "short") ? SHORT : !strcmp(word, "record") ? RECORD : NOTHING;
    if (!strcmp(word, "drop")) {
        plan = DROP;
        sscanf(text, "%*s %*d %15s %159s", length, failing_kinds);
        reverts = !strcmp(failing_kinds, "reverted");
    }
    span = !strcmp(length, "on") ? ON : !strcmp(length, "lifted") ? LIFTED : !strcmp(length, "killed") ? KILLED : ONCE;
    counts_messages = getenv("FAULT_SOCKETS") != NULL;
    if (getenv("FAULT_IGNORE")) ignored = getenv("FAULT_IGNORE");
    // The log's descriptor gets a high number, so that the program's descriptors have the same numbers as without this library.
    if (path) {
        int file = syscall(SYS_open, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        log_file = fcntl(file, F_DUPFD_CLOEXEC, 900);
        syscall(SYS_close, file);
    }
}

static void note_bytes(const void *bytes, size_t count) {
    for (size_t done = 0; log_file >= 0 && done < count;) {
        long wrote = syscall(SYS_write, log_file, (const char *)bytes + done, count - done);
        if (wrote <= 0) abort();
        done += wrote;
    }
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...) {
    char line[3 * PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    note_bytes(line, length);
}

// The program calls `fault_lift` to end the fault, and `fault_mark` to write a word between the recorded changes.
void fault_mark(const char *word) {
    if (plan != RECORD && plan != DROP) return;
    pthread_mutex_lock(&mutex);
    note("mark %s\n", word);
    pthread_mutex_unlock(&mutex);
}

void fault_lift(void) {
    __atomic_store_n(&is_lifted, 1, __ATOMIC_SEQ_CST);
    fault_mark("lifted");
}

static int is_ours(const char *path) {
    return path && !strncmp(path, root, root_length) && (path[root_length] == '/' || path[root_length] == 0);
}

static const char *path_of(int descriptor, char *buffer) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    long length = syscall(SYS_readlink, link, buffer, PATH_MAX - 1);
    if (length < 0) return NULL;
    buffer[length] = 0;
    return buffer;
}

static const char *full_path(int folder, const char *path, char *buffer) {
    if (!path) return NULL;
    if (!strncmp(path, "/proc/self/fd/", 14)) return path_of(atoi(path + 14), buffer);
    if (path[0] == '/') {
        snprintf(buffer, PATH_MAX, "%s", path);
        return buffer;
    }
    if (folder == AT_FDCWD) {
        if (!getcwd(buffer, PATH_MAX)) return NULL;
    } else if (!path_of(folder, buffer)) {
        return NULL;
    }
    size_t length = strlen(buffer);
    if (path[0]) snprintf(buffer + length, PATH_MAX - length, "/%s", path);
    return buffer;
}

static int is_change(enum kind kind) { return kind == CREATE || kind == WRITE || kind == SYNC || kind == NAME || kind == RESIZE || kind == MODE || kind == SEND; }

// Returns whether the plan may make a call of this kind fail or transfer only half of its bytes.
static int suits(enum kind kind) {
    if (plan == SHORT) return kind == WRITE || kind == READ;
    const char *name = kind_names[kind];
    size_t length = strlen(name);
    for (const char *word = failing_kinds; *word; word += strcspn(word, ","), word += *word == ',')
        if (!strncmp(word, name, length) && (word[length] == ',' || !word[length])) return 1;
    return 0;
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

enum verdict { GO_ON, FAILS, HALF, HALF_THEN_KILL };

// Counts a call, and decides whether it proceeds, fails, or transfers only half of its bytes. Kills the program if a
// kill is planned here.
static enum verdict enter(enum kind kind, const char *path) {
    if (plan == NOTHING || !is_ours(path)) return GO_ON;
    enum verdict verdict = GO_ON;
    pthread_mutex_lock(&mutex);
    calls++;
    if (is_change(kind)) changes++;
    if (plan == COUNT) note("%s %s\n", kind_names[kind], path + root_length);
    if ((plan == KILL || plan == TEAR || plan == RECORD) && is_change(kind) && changes == target) {
        if (plan != RECORD) note("fired %s %s\n", kind_names[kind], path + root_length);
        if (plan != TEAR || kind != WRITE) die();
        verdict = HALF_THEN_KILL;
    }
    if (plan == DROP && has_fired && is_change(kind)) {
        if (span == KILLED) die();
        if (is_sealed) {
            fault = EROFS;
            verdict = FAILS;
        }
    }
    if ((plan == FAIL || plan == SHORT) && calls >= target && suits(kind)) {
        int is_over = span == LIFTED && __atomic_load_n(&is_lifted, __ATOMIC_SEQ_CST);
        if (!is_over && (!has_fired || (plan == FAIL && span != ONCE))) {
            if (!has_fired) note("fired %s %s\n", kind_names[kind], path + root_length);
            has_fired = 1;
            verdict = plan == SHORT ? HALF : FAILS;
        }
    }
    pthread_mutex_unlock(&mutex);
    return verdict;
}

static unsigned long long inode_of(int descriptor) {
    struct stat found;
    return syscall(SYS_fstat, descriptor, &found) == 0 ? found.st_ino : 0;
}

static unsigned long long inode_at(const char *path) {
    struct stat found;
    return syscall(SYS_lstat, path, &found) == 0 ? found.st_ino : 0;
}

// Returns whether a call is recorded. If so, the mutex stays locked until `ends_record`. So the record has the changes
// in the order in which they were made.
static int starts_record(const char *path) {
    if ((plan != RECORD && plan != DROP) || !is_ours(path)) return 0;
    pthread_mutex_lock(&mutex);
    return 1;
}

static void ends_record(void) {
    int error = errno;
    pthread_mutex_unlock(&mutex);
    errno = error;
}

// MARK: Flushes that fail

// The former content of a part of a file that was changed and not flushed since. For `reverted` pages only.
struct former {
    struct former *next;
    unsigned long long inode;
    off_t offset, size;
    size_t count;
    char bytes[];
};
static struct former *formers;

// Saves the bytes that a change of a file will overwrite or cut off, and the size of the file. The mutex is locked.
static void keep_former(int descriptor, off_t offset, size_t count) {
    struct stat found;
    if (plan != DROP || !reverts || syscall(SYS_fstat, descriptor, &found) != 0) return;
    struct former *former = malloc(sizeof *former + count);
    if (!former) abort();
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    // The program may have opened the file for writing only.
    int file = syscall(SYS_open, link, O_RDONLY | O_CLOEXEC, 0);
    long there = file < 0 ? -1 : syscall(SYS_pread64, file, former->bytes, count, offset);
    if (file >= 0) syscall(SYS_close, file);
    *former = (struct former){.next = formers, .inode = found.st_ino, .offset = offset, .size = found.st_size, .count = there > 0 ? there : 0};
    formers = former;
}

// Frees the former content that was saved for a file. If the flush of the file has failed, first writes this content back, the
// last change first. The mutex is locked.
static void end_formers(int descriptor, int has_failed) {
    unsigned long long inode = inode_of(descriptor);
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    int file = has_failed && formers ? (int)syscall(SYS_open, link, O_WRONLY | O_CLOEXEC, 0) : -1;
    for (struct former **place = &formers; *place;) {
        struct former *former = *place;
        if (former->inode != inode) {
            place = &former->next;
            continue;
        }
        if (has_failed) {
            if (file < 0 || syscall(SYS_ftruncate, file, former->size) != 0) abort();
            if (former->count > 0 && syscall(SYS_pwrite64, file, former->bytes, former->count, former->offset) < 0) abort();
        }
        *place = former->next;
        free(former);
    }
    if (file >= 0) syscall(SYS_close, file);
}

// Returns whether this flush fails and loses the bytes that it should have written. The mutex is locked.
static int drops(int is_folder) {
    if (plan != DROP || ++flushes < target || (has_fired && span == ONCE)) return 0;
    if (span == LIFTED && __atomic_load_n(&is_lifted, __ATOMIC_SEQ_CST)) return 0;
    has_fired = 1;
    is_sealed = is_sealed || (is_folder && strcmp(ignored, "retries"));
    return 1;
}

// MARK: Content of files

static ssize_t transfer(enum kind kind, int descriptor, size_t count, size_t *part) {
    char buffer[PATH_MAX];
    *part = count;
    switch (enter(kind, path_of(descriptor, buffer))) {
    case FAILS: errno = fault; return -1;
    case HALF: *part = count > 1 ? count / 2 : count; return 0;
    case HALF_THEN_KILL: *part = count / 2; return 1;
    default: return 0;
    }
}

static ssize_t write_at(int descriptor, const void *bytes, size_t count, off_t offset, int is_placed) {
    char buffer[PATH_MAX];
    size_t part;
    ssize_t state = transfer(WRITE, descriptor, count, &part);
    if (state < 0) return -1;
    int is_recorded = starts_record(path_of(descriptor, buffer));
    if (is_recorded && !is_placed) {
        struct stat found;
        int appends = (fcntl(descriptor, F_GETFL) & O_APPEND) && syscall(SYS_fstat, descriptor, &found) == 0;
        offset = appends ? found.st_size : lseek(descriptor, 0, SEEK_CUR);
    }
    if (is_recorded) keep_former(descriptor, offset, part);
    ssize_t done = is_placed ? syscall(SYS_pwrite64, descriptor, bytes, part, offset) : syscall(SYS_write, descriptor, bytes, part);
    if (is_recorded) {
        if (done > 0) {
            note("write %llu %lld %zd\n", inode_of(descriptor), (long long)offset, done);
            note_bytes(bytes, done);
            note("\n");
        }
        ends_record();
    }
    if (state == 1) die();
    return done;
}

ssize_t write(int descriptor, const void *bytes, size_t count) { return write_at(descriptor, bytes, count, 0, 0); }
ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) { return write_at(descriptor, bytes, count, offset, 1); }
ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) { return write_at(descriptor, bytes, count, offset, 1); }

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    size_t length = 0;
    for (int i = 0; i < count; i++) length += parts[i].iov_len;
    char *bytes = malloc(length + 1);
    length = 0;
    for (int i = 0; i < count; i++) {
        memcpy(bytes + length, parts[i].iov_base, parts[i].iov_len);
        length += parts[i].iov_len;
    }
    ssize_t done = write_at(descriptor, bytes, length, 0, 0);
    int error = errno;
    free(bytes);
    errno = error;
    return done;
}

ssize_t read(int descriptor, void *bytes, size_t count) {
    size_t part;
    if (transfer(READ, descriptor, count, &part) < 0) return -1;
    return syscall(SYS_read, descriptor, bytes, part);
}

ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
    size_t part;
    if (transfer(READ, descriptor, count, &part) < 0) return -1;
    return syscall(SYS_pread64, descriptor, bytes, part, offset);
}
ssize_t pread64(int descriptor, void *bytes, size_t count, off64_t offset) { return pread(descriptor, bytes, count, offset); }

static int sync_file(int descriptor, long number) {
    char buffer[PATH_MAX];
    const char *path = path_of(descriptor, buffer);
    if (enter(SYNC, path) == FAILS) { errno = fault; return -1; }
    int is_recorded = starts_record(path);
    struct stat found;
    int is_folder = is_recorded && syscall(SYS_fstat, descriptor, &found) == 0 && S_ISDIR(found.st_mode);
    if (is_recorded && drops(is_folder)) {
        note("%s %llu\n", reverts && !is_folder ? "revert" : "lose", inode_of(descriptor));
        if (!is_folder) end_formers(descriptor, 1);
        ends_record();
        if (!strcmp(ignored, "retries")) return 0;
        errno = EIO;
        return -1;
    }
    int status = syscall(number, descriptor);
    if (is_recorded) {
        size_t length = strlen(path);
        int is_log = length > 4 && !strcmp(path + length - 4, "-wal");
        if (status == 0 && !(is_folder && !strcmp(ignored, "directories")) && !(is_log && !strcmp(ignored, "logs")))
            note("sync %llu\n", inode_of(descriptor));
        if (status == 0 && !is_folder) end_formers(descriptor, 0);
        ends_record();
    }
    return status;
}

int fsync(int descriptor) { return sync_file(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return sync_file(descriptor, SYS_fdatasync); }

static int resize(int descriptor, off_t size) {
    char buffer[PATH_MAX];
    const char *path = path_of(descriptor, buffer);
    if (enter(RESIZE, path) == FAILS) { errno = fault; return -1; }
    int is_recorded = starts_record(path);
    struct stat found;
    if (is_recorded && syscall(SYS_fstat, descriptor, &found) == 0)
        keep_former(descriptor, size, found.st_size > size ? found.st_size - size : 0);
    int status = syscall(SYS_ftruncate, descriptor, size);
    if (is_recorded) {
        if (status == 0) note("resize %llu %lld\n", inode_of(descriptor), (long long)size);
        ends_record();
    }
    return status;
}

int ftruncate(int descriptor, off_t size) { return resize(descriptor, size); }
int ftruncate64(int descriptor, off64_t size) { return resize(descriptor, size); }

static int extend(int descriptor, int mode, off_t offset, off_t length) {
    char buffer[PATH_MAX];
    const char *path = path_of(descriptor, buffer);
    if (enter(RESIZE, path) == FAILS) { errno = fault; return -1; }
    int is_recorded = starts_record(path);
    if (is_recorded) keep_former(descriptor, offset, 0);
    int status = syscall(SYS_fallocate, descriptor, mode, offset, length);
    if (is_recorded) {
        if (status == 0 && mode == 0) note("extend %llu %lld\n", inode_of(descriptor), (long long)(offset + length));
        ends_record();
    }
    return status;
}

int fallocate(int descriptor, int mode, off_t offset, off_t length) { return extend(descriptor, mode, offset, length); }
int fallocate64(int descriptor, int mode, off64_t offset, off64_t length) { return extend(descriptor, mode, offset, length); }
int posix_fallocate(int descriptor, off_t offset, off_t length) { return extend(descriptor, 0, offset, length) == 0 ? 0 : errno; }
int posix_fallocate64(int descriptor, off64_t offset, off64_t length) { return posix_fallocate(descriptor, offset, length); }

// MARK: Names

static int open_file(int folder, const char *name, int flags, mode_t mode) {
    char buffer[PATH_MAX];
    const char *path = full_path(folder, name, buffer);
    int may_write = (flags & O_ACCMODE) != O_RDONLY, is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    // The opening of a file that exists creates nothing, so it does not fail for lack of space.
    int may_create = is_unnamed || ((flags & O_CREAT) && !inode_at(path));
    if (enter(may_create ? CREATE : may_write ? OPEN_TO_WRITE : OPEN, path) == FAILS) { errno = fault; return -1; }
    int is_recorded = (may_write || may_create) && starts_record(path);
    unsigned long long before = is_recorded ? inode_at(path) : 0;
    int descriptor = syscall(SYS_openat, folder, name, flags, mode);
    if (is_recorded) {
        struct stat found;
        if (descriptor >= 0 && syscall(SYS_fstat, descriptor, &found) == 0) {
            if ((flags & O_TMPFILE) == O_TMPFILE) note("unnamed %llu %o\n", (unsigned long long)found.st_ino, found.st_mode & 07777);
            else if ((flags & O_CREAT) && !before) note("create %llu %o %s\n", (unsigned long long)found.st_ino, found.st_mode & 07777, path + root_length);
            else if (flags & O_TRUNC) note("resize %llu 0\n", (unsigned long long)found.st_ino);
        }
        ends_record();
    }
    return descriptor;
}

#define OPEN_FUNCTION(name, parameters, folder, path) \
    int name parameters { \
        mode_t mode = 0; \
        if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) { \
            va_list arguments; \
            va_start(arguments, flags); \
            mode = va_arg(arguments, mode_t); \
            va_end(arguments); \
        } \
        return open_file(folder, path, flags, mode); \
    }
OPEN_FUNCTION(open, (const char *path, int flags, ...), AT_FDCWD, path)
OPEN_FUNCTION(open64, (const char *path, int flags, ...), AT_FDCWD, path)
OPEN_FUNCTION(openat, (int folder, const char *path, int flags, ...), folder, path)
OPEN_FUNCTION(openat64, (int folder, const char *path, int flags, ...), folder, path)

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    char first[PATH_MAX], second[PATH_MAX];
    const char *source = full_path(from, old, first), *destination = full_path(to, new, second);
    if (enter(NAME, destination) == FAILS) { errno = fault; return -1; }
    int is_recorded = starts_record(destination);
    unsigned long long inode = is_recorded ? inode_at(source) : 0, other = is_recorded ? inode_at(destination) : 0;
    int status = syscall(SYS_renameat2, from, old, to, new, flags);
    if (is_recorded) {
        if (status == 0 && (flags & 2)) note("exchange %llu %llu %s\n%s\n", inode, other, source + root_length, destination + root_length);
        else if (status == 0) note("rename %llu %s\n%s\n", inode, source + root_length, destination + root_length);
        ends_record();
    }
    return status;
}
int rename(const char *old, const char *new) { return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int from, const char *old, int to, const char *new) { return renameat2(from, old, to, new, 0); }

int linkat(int from, const char *old, int to, const char *new, int flags) {
    char buffer[PATH_MAX];
    const char *destination = full_path(to, new, buffer);
    if (enter(NAME, destination) == FAILS) { errno = fault; return -1; }
    int is_recorded = starts_record(destination);
    int status = syscall(SYS_linkat, from, old, to, new, flags);
    if (is_recorded) {
        if (status == 0) note("link %llu %s\n", inode_at(destination), destination + root_length);
        ends_record();
    }
    return status;
}
int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }

int unlinkat(int folder, const char *name, int flags) {
    char buffer[PATH_MAX];
    const char *path = full_path(folder, name, buffer);
    if (enter(NAME, path) == FAILS) { errno = fault; return -1; }
    int is_recorded = starts_record(path);
    int status = syscall(SYS_unlinkat, folder, name, flags);
    if (is_recorded) {
        if (status == 0) note("unlink %s\n", path + root_length);
        ends_record();
    }
    return status;
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char *path) {
    int status = unlinkat(AT_FDCWD, path, 0);
    return status != 0 && errno == EISDIR ? unlinkat(AT_FDCWD, path, AT_REMOVEDIR) : status;
}

int mkdirat(int folder, const char *name, mode_t mode) {
    char buffer[PATH_MAX];
    const char *path = full_path(folder, name, buffer);
    if (enter(NAME, path) == FAILS) { errno = fault; return -1; }
    int is_recorded = starts_record(path);
    int status = syscall(SYS_mkdirat, folder, name, mode);
    if (is_recorded) {
        struct stat found;
        if (status == 0 && syscall(SYS_lstat, path, &found) == 0)
            note("folder %llu %o %s\n", (unsigned long long)found.st_ino, found.st_mode & 07777, path + root_length);
        ends_record();
    }
    return status;
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

// MARK: Calls that change no content

static int change_mode(const char *path, long number, int descriptor, unsigned long a, unsigned long b) {
    if (enter(MODE, path) == FAILS) { errno = fault; return -1; }
    int is_recorded = starts_record(path);
    int status = syscall(number, descriptor, a, b);
    if (is_recorded) {
        if (status == 0 && number == SYS_fchmod) note("mode %llu %lo\n", inode_of(descriptor), a);
        ends_record();
    }
    return status;
}
int fchmod(int descriptor, mode_t mode) {
    char buffer[PATH_MAX];
    return change_mode(path_of(descriptor, buffer), SYS_fchmod, descriptor, mode, 0);
}
int fchown(int descriptor, uid_t owner, gid_t group) {
    char buffer[PATH_MAX];
    return change_mode(path_of(descriptor, buffer), SYS_fchown, descriptor, owner, group);
}

static int look(int folder, const char *name) {
    char buffer[PATH_MAX];
    return enter(LOOK, full_path(folder, name, buffer)) == FAILS ? (errno = fault, -1) : 0;
}
#define LOOK_FUNCTION(name, parameters, folder, path, arguments) \
    int name parameters { \
        REAL(name); \
        return look(folder, path) < 0 ? -1 : real arguments; \
    }
LOOK_FUNCTION(stat, (const char *path, struct stat *found), AT_FDCWD, path, (path, found))
LOOK_FUNCTION(stat64, (const char *path, struct stat64 *found), AT_FDCWD, path, (path, found))
LOOK_FUNCTION(lstat, (const char *path, struct stat *found), AT_FDCWD, path, (path, found))
LOOK_FUNCTION(lstat64, (const char *path, struct stat64 *found), AT_FDCWD, path, (path, found))
LOOK_FUNCTION(fstatat, (int folder, const char *path, struct stat *found, int flags), folder, path, (folder, path, found, flags))
LOOK_FUNCTION(fstatat64, (int folder, const char *path, struct stat64 *found, int flags), folder, path, (folder, path, found, flags))
LOOK_FUNCTION(access, (const char *path, int mode), AT_FDCWD, path, (path, mode))
LOOK_FUNCTION(faccessat, (int folder, const char *path, int mode, int flags), folder, path, (folder, path, mode, flags))

int fstat(int descriptor, struct stat *found) {
    char buffer[PATH_MAX];
    REAL(fstat);
    return enter(LOOK, path_of(descriptor, buffer)) == FAILS ? (errno = fault, -1) : real(descriptor, found);
}
int fstat64(int descriptor, struct stat64 *found) {
    char buffer[PATH_MAX];
    REAL(fstat64);
    return enter(LOOK, path_of(descriptor, buffer)) == FAILS ? (errno = fault, -1) : real(descriptor, found);
}

int flock(int descriptor, int operation) {
    char buffer[PATH_MAX];
    REAL(flock);
    // Unlocking never fails, because the kernel releases a lock in any case.
    if (!(operation & LOCK_UN) && enter(LOCK, path_of(descriptor, buffer)) == FAILS) { errno = fault; return -1; }
    return real(descriptor, operation);
}

static int control(int descriptor, int command, void *argument) {
    char buffer[PATH_MAX];
    int is_lock = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
    if (is_lock && ((struct flock *)argument)->l_type != F_UNLCK && enter(LOCK, path_of(descriptor, buffer)) == FAILS) { errno = fault; return -1; }
    return syscall(SYS_fcntl, descriptor, command, argument);
}
int fcntl(int descriptor, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return control(descriptor, command, argument);
}
int fcntl64(int descriptor, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return control(descriptor, command, argument);
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    if (counts_messages && enter(SEND, root) == FAILS) { errno = fault; return -1; }
    return syscall(SYS_sendmsg, descriptor, message, flags);
}

DIR *opendir(const char *path) {
    char buffer[PATH_MAX];
    REAL(opendir);
    if (enter(LIST, full_path(AT_FDCWD, path, buffer)) == FAILS) { errno = fault; return NULL; }
    return real(path);
}
DIR *fdopendir(int descriptor) {
    char buffer[PATH_MAX];
    REAL(fdopendir);
    if (enter(LIST, path_of(descriptor, buffer)) == FAILS) { errno = fault; return NULL; }
    return real(descriptor);
}

void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {
    char buffer[PATH_MAX];
    if (descriptor >= 0 && plan != NOTHING && enter(MAP, path_of(descriptor, buffer)) == FAILS) { errno = fault; return MAP_FAILED; }
    return (void *)syscall(SYS_mmap, address, length, protection, flags, descriptor, offset);
}
void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset) {
    return mmap(address, length, protection, flags, descriptor, offset);
}
