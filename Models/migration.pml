/*
 * The migration protocol of one key, for spin. Docs/Model.md says what is modelled, what is not, and how to run it: Scripts/check-model.
 *
 * One key with a destination D and one older place S. Two processes of the new program get, set, remove and sweep; an old application that knows
 * only S writes to it; the disk writes back what it likes when it likes; processes die and the power fails between any two steps. A step is one call
 * to a store, or one flush: what a process computes between two calls is nobody else's to see.
 *
 * Each row of `Program` is one step of MigrationEngine; the comment behind its label names the function.
 *
 * Configurations (all must hold):   default: the destination wins a conflict    SOURCE_WINS: the source does (then without the old application)
 * Variants (each must be violated): see the #ifdef's, and Scripts/check-model
 */

#ifndef OPS
#define OPS 2     /* operations of each process */
#endif
#ifndef CUTS
#define CUTS 1    /* power cuts */
#endif
#ifndef KILLS
#define KILLS 1   /* deaths of a single process, also: errors after which nobody knows whether a change was made */
#endif
#ifdef SOURCE_WINS
#define OLD 0
#endif
#ifndef OLD
#define OLD 2     /* changes by the old application */
#endif

/* What a look finds. */
#define ABSENT      0
#define VALUE       1
#define TOMBSTONE   2
#define LOCKED      3
#define UNAVAILABLE 4
#define failed      (my.kind >= LOCKED)

/* S is one byte. Nobody but its content tells a foreign value's revision, so content, revision and fingerprint are the same number. */
#define NOTHING     0   /* 1: what is there at first; 2: what the old application writes, and process 0 sets; 3: what process 1 sets */
#define REMOVED     4   /* a tombstone: an older version of the program removed it */
#define UNREADABLE  5   /* only in `older`: locked or unavailable when it was looked at */
#define isValue(s)  (s >= 1 && s <= 3)

mtype = {
    NONE, GET, SET, REMOVE, SWEEP,                                                     /* what a process does */
    IDLE, PLACE, SETTLE, SOURCE, SECOND_S, SECOND_D, PUT, FLUSH, VERIFY, COLLECT, FLUSH_S, LOOK,   /* and where it is */
    NAMED, COMPARE, QUARANTINE, BARRIER, WRITE_D, WRITE_S, WRITE, FLUSH_WRITE
}

typedef Record {
    byte kind, val;
    byte copy;      /* the origin: the fingerprint of the copy in S that this replaces */
    byte rev;       /* never used again */
    byte ver;       /* ghost: the user's change it comes from, in the order of commits; 0: a migration. Also behind an empty slot */
    byte past       /* ghost: the set of contents that it holds, names or descends from */
}
typedef Process {
    mtype at, op;
    byte ops;
    byte kind, val, copy, rev, ver;   /* what it saw in D, or wrote there */
    byte older;                       /* what it saw in S */
    byte floor;                       /* ghost: what was acknowledged when its get began */
    bit gap                           /* ghost: since its get began, there was a moment without a value in either place */
}

Record D, onDisk;             /* what everybody sees, and what a power cut leaves */
byte S, S_onDisk;
Process P[2];
byte revisions;
byte cuts = CUTS, kills = KILLS, old = OLD;
byte alone;                   /* the last phase: no faults, no others; process 0 sweeps, sweeps again, gets. 4: the end */
/* Ghosts: only assertions look at them. */
byte acked;                   /* the newest acknowledged change */
byte safe;                    /* a set of contents: the past of every D that was on disk, and the quarantine */
byte first;                   /* what S held at first */
bit abandoned;                /* the old application deleted, or the user changed: the first value need not be there at the end */
byte before;                  /* revisions after the first of the last sweeps */
hidden byte fault;            /* what this look runs into: a choice, no state */

#define my P[me]
#define nothingThere (D.kind != VALUE && !isValue(S))

inline note() {               /* after every visible change */
    if
    :: nothingThere ->
        if :: P[0].op == GET -> P[0].gap = 1 :: else fi;
        if :: P[1].op == GET -> P[1].gap = 1 :: else fi
    :: else
    fi
}
inline copySeen(to, from) {
    to.kind = from.kind; to.val = from.val; to.copy = from.copy; to.rev = from.rev; to.ver = from.ver
}
inline persist() {            /* D is on disk */
    copySeen(onDisk, D); onDisk.past = D.past;
    safe = safe | D.past
}
inline forget(p) {            /* a process that does nothing knows nothing */
    P[p].at = IDLE; P[p].op = NONE; P[p].kind = 0; P[p].val = 0; P[p].copy = 0; P[p].rev = 0; P[p].ver = 0;
    P[p].older = 0; P[p].floor = 0; P[p].gap = 0
}
inline begin(p, what, where) {
    P[p].op = what; P[p].at = where;
    if :: what == GET -> P[p].floor = acked; P[p].gap = nothingThere :: else fi
}
inline lookD() {
    if
    :: fault == 0 -> copySeen(my, D)
#ifdef LOCKED_AS_ABSENT
    :: fault == LOCKED -> my.kind = ABSENT; my.val = 0; my.copy = 0; my.rev = 0; my.ver = 0
#endif
#ifdef UNAVAILABLE_AS_ABSENT
    :: fault == UNAVAILABLE -> my.kind = ABSENT; my.val = 0; my.copy = 0; my.rev = 0; my.ver = 0
#endif
    :: else -> my.kind = fault; my.val = 0; my.copy = 0; my.rev = 0; my.ver = 0
    fi
}
inline lookS() {
    if
    :: fault == 0 -> my.older = S
#ifdef LOCKED_AS_ABSENT
    :: fault == LOCKED -> my.older = NOTHING
#endif
#ifdef UNAVAILABLE_AS_ABSENT
    :: fault == UNAVAILABLE -> my.older = NOTHING
#endif
    :: else -> my.older = UNREADABLE
    fi
}
inline lookWriting() {
    lookS();
#if defined(SOURCE_WINS) && !defined(SOURCE_UNSEEN)
    if :: my.older == UNREADABLE -> my.older = S :: else fi   /* assumed: who lets the source win sees it when he writes */
#endif
}
/* The store's own question, under its lock: is D as this process saw it? */
#define asSeen (my.kind == ABSENT -> D.kind == ABSENT : D.kind != ABSENT && D.rev == my.rev)

#ifdef NO_DELETE_PRECONDITION
#define deletable isValue(S)
#else
#define deletable (S == my.older)
#endif

#ifdef COPY_TAKEN_FOR_CONFLICT
#define namedAfterAll false
#else
#define namedAfterAll (my.older == my.copy)      /* it could not be read a moment ago */
#endif

inline answer() {             /* a get returns what it saw in D */
    assert(my.ver >= my.floor);                  /* I2, I3: not older than what was acknowledged before it began */
    assert(my.kind != ABSENT || my.gap);       /* I4: nil without a tombstone is proven absence */
    assert(alone != 3 || first != 1 || abandoned || my.kind == VALUE);   /* I1, from end to end */
    forget(me)
}
inline acknowledge() {
    if :: my.ver > acked -> acked = my.ver :: else fi;
    forget(me)
}
inline done() {               /* the work in the lane is done */
    if
    :: my.op == GET -> my.at = LOOK
    :: my.op == REMOVE -> acknowledge()          /* also with residue: its outcome is `applied` */
    :: else -> forget(me)
    fi
}
inline foundNothing() {
#ifdef NO_SECOND_LOOK
    if :: my.op == GET -> answer() :: else -> forget(me) fi
#else
    my.at = SECOND_S
#endif
}
inline removedBefore() {
#ifdef REPEATED_REMOVE_UNFLUSHED
    if :: isValue(my.older) -> my.at = BARRIER :: else -> acknowledge() fi
#else
    my.at = BARRIER           /* whoever wrote the tombstone may have died before it was on disk */
#endif
}
inline again(where) {         /* changed meanwhile */
    assert(!alone);                              /* liveness: nobody else is there */
    my.at = where
}

/* What `spin -t` shows: the state, and what is done next. A record is kind.content.copy and, behind #, its ghost. */
inline tell() {
    printf("D %d.%d.%d#%d (disk %d.%d.%d#%d)  S %d (disk %d)  acknowledged %d  | ", D.kind, D.val, D.copy, D.ver,
        onDisk.kind, onDisk.val, onDisk.copy, onDisk.ver, S, S_onDisk, acked)
}
inline tellStep() {
    tell();
    printf("process %d: %e, %e", me, my.op, my.at);
    if :: fault == LOCKED -> printf(", locked\n") :: fault == UNAVAILABLE -> printf(", unavailable\n") :: else -> printf("\n") fi
}

/* A step, and a step that looks at a store and may find it locked or unavailable. */
#define STEP(state) :: d_step { my.at == state -> fault = 0; tellStep();
#define END         }
#define CHECK(state, body) \
    :: d_step { my.at == state -> fault = 0; tellStep(); body } \
    :: d_step { my.at == state && !alone -> fault = LOCKED; tellStep(); body } \
    :: d_step { my.at == state && !alone -> fault = UNAVAILABLE; tellStep(); body }

proctype Program(bit me) {
    do
    :: d_step { my.at == IDLE && my.ops > 0 -> my.ops--; begin(me, GET, PLACE) }
    :: d_step { my.at == IDLE && my.ops > 0 -> my.ops--; begin(me, SET, WRITE_D) }
    :: d_step { my.at == IDLE && my.ops > 0 -> my.ops--; begin(me, REMOVE, WRITE_D) }
    :: d_step { my.at == IDLE && my.ops > 0 -> my.ops--; begin(me, SWEEP, SETTLE) }

    /* get: current, lookInPlace */
    CHECK(PLACE, lookD();
        if :: failed -> forget(me) :: my.kind == ABSENT -> my.at = SETTLE :: else -> answer() fi)
    /* settle: the state table */
    CHECK(SETTLE, lookD();
        if
        :: failed -> forget(me)
        :: my.kind == ABSENT -> my.at = SOURCE
        :: else -> if :: my.op == SWEEP -> my.at = NAMED :: else -> my.at = LOOK fi
        fi)
    /* fill, attempt, readSource */
    CHECK(SOURCE, lookS();
        if
        :: my.older == UNREADABLE -> forget(me)
        :: my.older == REMOVED -> done()
        :: my.older == NOTHING -> foundNothing()
        :: else -> my.at = PUT
        fi)
    /* fill: the second look, in the direction in which values travel */
    CHECK(SECOND_S, lookS();
        if :: my.older == UNREADABLE -> forget(me) :: isValue(my.older) -> my.at = SETTLE :: else -> my.at = SECOND_D fi)
    CHECK(SECOND_D, lookD();
        if :: failed -> forget(me) :: my.kind == ABSENT -> done() :: else -> again(SETTLE) fi)

    /* move, write (also resolve, where the source wins: then what stands in D is replaced under its revision) */
    STEP(PUT)
        if
#ifdef NO_PUT_PRECONDITION
        :: true ->
#else
        :: asSeen ->
#endif
            revisions++;
            D.kind = VALUE; D.val = my.older; D.copy = my.older; D.rev = revisions; D.ver = 0;
            D.past = (my.kind == ABSENT -> 0 : D.past) | (1 << my.older);
            note();
#ifdef DELETE_BEFORE_DURABLE
            my.at = COLLECT
#else
            my.at = FLUSH
#endif
        :: else -> again(SETTLE)
        fi END
    STEP(FLUSH)
        persist();
#ifdef DELETE_BEFORE_DURABLE
        done()
#else
        my.at = VERIFY
#endif
        END
    /* verify: what others wrote after us is as good */
    CHECK(VERIFY, lookD();
        if :: failed || my.kind == ABSENT -> forget(me) :: else -> my.at = COLLECT fi)
    /* collect: delete S on condition of the revision that was read; what cannot be deleted is residue */
    CHECK(COLLECT,
        if
        :: fault == 0 && deletable ->
            assert(safe & (1 << S));             /* I1, I6: nothing is deleted that is not safe on disk */
            S = NOTHING;
            note();
            my.at = FLUSH_S
        :: else -> done()
        fi)
    STEP(FLUSH_S)
        S_onDisk = S;
#ifdef DELETE_BEFORE_DURABLE
        if :: my.op == GET || my.op == SWEEP -> my.at = FLUSH :: else -> done() fi
#else
        done()
#endif
        END
    /* migrateAndLook: whoever joined looks again */
    CHECK(LOOK, lookD();
        if :: failed -> forget(me) :: else -> answer() fi)

    /* sweep, reconcile: copies that the record names */
    CHECK(NAMED, lookS();
        if :: isValue(my.older) && my.older == my.copy -> my.at = BARRIER :: else -> my.at = COMPARE fi)
    /* reconcile(step): what is left is the same value, or a conflict */
    CHECK(COMPARE, lookS();
        if
        :: !isValue(my.older) -> forget(me)
        :: my.kind == VALUE && my.val == my.older -> my.at = BARRIER
        :: namedAfterAll -> my.at = BARRIER
        :: else -> my.at = QUARANTINE
        fi)
    /* resolve: the loser is durably in quarantine before anything goes */
    STEP(QUARANTINE)
#ifdef SOURCE_WINS
        my.at = PUT
#else
#ifndef NO_QUARANTINE
        safe = safe | (1 << my.older);
#endif
        my.at = BARRIER
#endif
        END
    /* settledDurability: what was found, not written, is made durable before it lets a copy go */
    STEP(BARRIER)
#ifndef NO_BARRIER
        persist();
#endif
        if :: isValue(my.older) -> my.at = COLLECT :: else -> acknowledge() fi END

    /* set and remove: standing, readableSources; a source that cannot be read is no obstacle */
    CHECK(WRITE_D, lookD();
        if :: failed -> forget(me) :: else -> my.at = WRITE_S fi)
    CHECK(WRITE_S, lookWriting();
        if
        :: my.op == REMOVE && my.kind == TOMBSTONE && (!isValue(my.older) || my.older == my.copy) ->
            /* bury: removed before, and nothing new to name */
            removedBefore()
        :: else -> my.at = WRITE
        fi)
    /* commit, with carriedOrigin */
    STEP(WRITE)
        if
        :: asSeen ->
            revisions++;
            D.rev = revisions; D.ver = revisions;
            if :: my.op == SET -> D.kind = VALUE; D.val = 2 + me :: else -> D.kind = TOMBSTONE; D.val = 0 fi;
#ifdef NO_TOMBSTONE
            if :: my.op == REMOVE -> D.kind = ABSENT :: else fi;
#endif
#ifdef NO_ORIGIN
            D.copy = 0;
#else
            D.copy = (isValue(my.older) -> my.older : my.copy);
#endif
            D.past = D.past | (1 << D.val) | (1 << D.copy);
            my.ver = revisions;
            abandoned = 1;
            note();
            my.at = FLUSH_WRITE
        :: else -> again(WRITE_D)
        fi END
    STEP(FLUSH_WRITE)
        persist();
        if :: my.op == REMOVE && isValue(my.older) -> my.at = BARRIER :: else -> acknowledge() fi END

    :: alone == 4 -> break
    od
}

/* The disk, the power, the old application, and the end. */
proctype World() {
    do
    :: d_step { D.rev != onDisk.rev -> tell(); printf("the disk writes D back\n"); persist() }
    :: d_step { S != S_onDisk -> tell(); printf("the disk writes S back\n"); S_onDisk = S }
    :: d_step { cuts > 0 && !alone -> tell(); printf("POWER CUT\n"); cuts--; copySeen(D, onDisk); D.past = onDisk.past; S = S_onDisk; forget(0); forget(1) }
    :: d_step { kills > 0 && P[0].at != IDLE && !alone -> tell(); printf("PROCESS 0 DIES\n"); kills--; forget(0) }
    :: d_step { kills > 0 && P[1].at != IDLE && !alone -> tell(); printf("PROCESS 1 DIES\n"); kills--; forget(1) }
    :: d_step { old > 0 && !alone && S != 1 -> tell(); printf("the old application writes 1\n"); old--; S = 1 }
    :: d_step { old > 0 && !alone && S != 2 -> tell(); printf("the old application writes 2\n"); old--; S = 2; note() }
    :: d_step { old > 0 && !alone && S != NOTHING -> tell(); printf("the old application deletes\n"); old--; S = NOTHING; abandoned = 1; note() }
    :: d_step { alone < 4 && P[0].at == IDLE && P[1].at == IDLE && P[0].ops == 0 && P[1].ops == 0 ->
        if
        :: alone == 0 -> begin(0, SWEEP, SETTLE)
        :: alone == 1 -> assert(!isValue(S)); before = revisions; begin(0, SWEEP, SETTLE)   /* liveness: one sweep was enough */
        :: alone == 2 -> assert(revisions == before); begin(0, GET, PLACE)                                         /* I5: the second changed nothing */
        :: else
        fi;
        alone++ }
    :: alone == 4 -> break
    od
}

/* I1: what was acknowledged is on disk, or something newer. Runs only if it is not so. */
proctype Acknowledged() {
    do
    :: atomic { onDisk.ver < acked -> assert(false) }
    :: alone == 4 -> break
    od
}

init {
    atomic {
        forget(0); forget(1);
        P[0].ops = OPS; P[1].ops = OPS;
        if :: S = NOTHING :: S = 1 :: S = REMOVED fi;
        S_onDisk = S; first = S;
        run Program(0); run Program(1); run World(); run Acknowledged()
    }
}
