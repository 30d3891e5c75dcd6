/*
 * The release window of one key, as a model for spin. "Release windows" in Docs/Design.md has the table of states, whose rows the comments
 * cite. Proof/Models/README.md describes how to read a counter-example. Docs/Glossary.md defines the terms.
 *
 * Two programs of version 2 read and write the destination D, and write a copy of D to the legacy location S: the mirror. A program of
 * version 1 uses only S. It writes and deletes S without reading it. One program of version 2 may end the window while the other one still
 * keeps it. Processes may die, the power may fail, and S may be locked.
 *
 * `ver` numbers all changes in the order in which they happened, whichever program made them. It is the revision of a record in D. A mirror
 * has the number of the record that it copies, and the bit `m`.
 *
 * The mark is a record beside S. A program that writes a mirror also writes the mark, which names the mirrored record of D. Version 1 does
 * not change the mark. `mark` is the number of the record that the mark names, or 0.
 *
 * A variable marked as *ghost* records the history for the assertions. No rule reads it.
 */
#define DESTINATION_WINS 0
#define SOURCE_WINS      1
#ifndef POLICY
#define POLICY DESTINATION_WINS
#endif
#ifndef OPS
#define OPS 2                 /* The number of operations of each process. */
#endif
#ifndef CUTS
#define CUTS 1                /* The number of power losses. */
#endif
#ifndef KILLS
#define KILLS 1               /* The number of deaths of processes. */
#endif
#ifndef OLD
#define OLD 2                 /* The number of changes by version 1. */
#endif
#ifndef ENDS
#define ENDS 0                /* How often a program ends the window, while the other one may still keep it. */
#endif
#ifndef APART
#define APART 0               /* 1: The store of S has no atomic batches, so a mirror and its mark are two commits. */
#endif
#ifndef VARIANT
#define VARIANT 0
#endif
/* Each variant omits one rule. Scripts/check-model requires that it violates an assertion. */
#define COLLECTS_IN_WINDOW     1   /* A sweep deletes S as if there were no window. */
#define OLDER_WRITE_NOT_SEEN   2   /* A get reads only D. */
#define MIRROR_UNCHECKED       3   /* A mirror overwrites any content of S. */
#define MIRROR_BEFORE_D        4   /* A mirror is written before D is durable. */
#define ABSENCE_IS_REMOVAL     5   /* An empty S counts as a removal by version 1, even if the mirror was never in S. */
#define CHANGE_WINS_UNMARKED   6   /* A write of version 1 replaces D, even if the mirror of the present D was never in S. */
#define STALE_MIRROR_WINS      7   /* A mirror of an earlier D counts as a write of version 1. */
#define END_NOT_IN_D           8   /* The record in D does not say that the window has ended. */
#define MIRROR_NOT_REPEATED   9   /* If the precondition of a mirror fails, the mirror is given up, and no sweep repeats it. */
#define NOT_SYNCED            10   /* D names a write of version 1 before that write is durable. */
#define REMOVAL_UNQUARANTINED 11   /* After a removal by version 1, the value of D is removed, and is not in quarantine. */
#define MIRROR_NAMED          12   /* D names a mirror, instead of the last write of version 1 before that mirror. */
#define FOLD_NOT_MARKED       13   /* A record in D that was made from a write of version 1 does not say so. */
#define DECIDED_BY_READ       14   /* A get decides a conflict. */
#define MARK_FIRST            15   /* The mark is written before the mirror, if they are two commits. */
#define READ_NOT_REPEATED     16   /* A get returns the content that D had before the get read S, and does not re-read D. */
#define is(variant) (VARIANT == variant)

#define ABSENT    0
#define VALUE     1
#define TOMBSTONE 2

/* The operations of a process, and then the steps of an operation. */
mtype = { NONE, GET, SET, REMOVE, SWEEP, END,
    IDLE, PLACE, BOTH, SYNC, WRITE, FOLD, DECIDE, QUARANTINE, FLUSH, BARRIER, MIRROR, FLUSH_S, MARK, FLUSH_MARK, AGAIN,
    CLOSE, FLUSH_CLOSE, DROP, FLUSH_DROP, COLLECT, FLUSH_END, LOOK }
typedef Slot {
    unsigned kind : 2, ver : 4;
    unsigned seen : 4;        /* D: the state of S that its writer saw, or that the replaced record names. S: not used. */
    bit m;                    /* S: the record is a mirror. D: the record says that the window has ended. */
    unsigned past : 4         /* Ghost: the set of writes of version 1 that the record has, replaced or descends from. */
}
typedef Process {
    mtype at, op;
    unsigned ops : 2;
    unsigned kind : 2, ver : 4, seen : 4; /* The result of its last read of D. */
    bit closed, stale;        /* `closed`: the `m` of D at that read. `stale`: D has another revision since then. */
    unsigned sKind : 2, sVer : 4, mark : 4;
    bit sM, blind;            /* `sKind`, `sVer`, `sM`, `mark`: its last read of S and the mark. `blind`: it could not read S. */
    bit isClean;              /* The change of version 1 in S replaces D without a conflict. It was made over the mirror of D or over the
                                 state of S from which D was made, or D is absent. */
    unsigned floor : 4        /* Ghost: the oldest change that its get may return. */
}
Slot D, onDisk, S, S_onDisk;  /* Each slot as all processes see it, and as a power loss leaves it. */
bit dirty;                    /* D was changed since the disk last wrote it back. */
unsigned mark : 4, mark_onDisk : 4;
Process P[2];
unsigned cuts : 2, kills : 2, old : 2, ends : 1, alone : 3; /* `alone` counts the operations of the end, in which there are no faults. */
unsigned clock : 4;           /* The number of the newest change. */
unsigned acked : 4;           /* Ghost: the newest change that was acknowledged. */
unsigned olds : 12;           /* Ghost: the numbers of the writes of version 1, four bits each. The newest has the lowest bits. */
unsigned safe : 4;            /* Ghost: the set of safe writes of version 1. Each is in the past of D on disk, or in quarantine. */
unsigned kept : 4;            /* Ghost: the last record of D that is in quarantine. */
bit moved, waiting;            /* Ghosts. `moved`: D or S was changed in the last sweep. `waiting`: no process has removed the value. */

#define my P[me]
/* The bit of a write of version 1 in `past` and `safe`. It is 1 for the write that S has at first, 2 for the newest write, and 4 for the
 * write before the newest. */
#define bitOf(v)  ((v) == 1 -> 1 : ((v) == (olds & 15) && (v) -> 2 : ((v) == ((olds >> 4) & 15) && (v) -> 4 : 0)))
/* S has a change that version 1 made over the mirror of D, or over the state of S from which D was made. */
#define outOfSync (!S.m && (mark == D.ver || D.ver == D.seen) && S.ver != D.ver)

inline copyTo(to, from) { to.kind = from.kind; to.ver = from.ver; to.seen = from.seen; to.m = from.m; to.past = from.past }
inline outdate(p) { if :: P[p].at != IDLE -> P[p].stale = 1 :: else fi }
inline changed() { dirty = 1; outdate(1 - me); my.stale = 0; if :: alone -> moved = 1 :: else fi }
/* D is written to disk. I1: the newest acknowledged change, or a newer one, is then on disk. */
inline persist() { copyTo(onDisk, D); dirty = 0; safe = safe | D.past; assert(onDisk.ver >= acked) }
inline persistMark() { mark_onDisk = mark }
inline persistS() { copyTo(S_onDisk, S); if :: APART -> skip :: else -> persistMark() fi }
/* Ends the operation of process p. */
inline forget(p) {
    P[p].at = IDLE; P[p].op = NONE; P[p].kind = 0; P[p].ver = 0; P[p].seen = 0; P[p].closed = 0; P[p].stale = 0;
    P[p].sKind = 0; P[p].sVer = 0; P[p].sM = 0; P[p].mark = 0; P[p].blind = 0; P[p].isClean = 0; P[p].floor = 0
}
inline begin(p, what) {
    P[p].op = what; P[p].at = PLACE;
    /* A get must return the newest acknowledged change, or a newer one. While the window is open, it must not return anything older than a
     * change that version 1 made over the mirror of D. */
    if :: what == GET -> P[p].floor = (outOfSync && !D.m && D.kind && S.ver > acked -> S.ver : acked) :: else fi
}
inline lookD() { my.kind = D.kind; my.ver = D.ver; my.seen = D.seen; my.closed = D.m; my.stale = 0 }
inline lookS() { my.sKind = S.kind; my.sVer = S.ver; my.sM = S.m; my.mark = mark }
/* A get returns D. I2, I3: the result is not older than `floor`. I1: if `waiting`, the last get returns a value. */
inline answer() { assert(my.ver >= my.floor); assert(alone != 5 || !waiting || my.kind == VALUE); forget(me) }
/* Acknowledges a set or a remove. I1: the change, or a newer one, is on disk. */
inline acknowledge() { if :: my.ver > acked -> acked = my.ver :: else fi; assert(onDisk.ver >= acked); forget(me) }
/* The work in the key lane is done. */
inline finish() {
    if :: my.op == GET -> my.at = LOOK :: my.op == SET || my.op == REMOVE -> acknowledge() :: else -> forget(me) fi
}
/* The conclusions of a process from the content of D and S that it read.
 * `known`: S has no new change of version 1. S has the state that D names, a mirror, or the state from which D was made.
 * `inSync`: S has the mirror of D.
 * `mirrored`: S had the mirror of D, or D was made from S. So a new change of version 1 is no conflict.
 * `isOver`: D says that the window has ended. */
#define known      (my.sVer == my.seen || (my.sM && !is(STALE_MIRROR_WINS)) || my.sVer == my.ver)
#define inSync     (my.sM && my.sVer == my.ver)
#define mirrored   (my.mark == my.ver || (my.ver == my.seen && !is(FOLD_NOT_MARKED)) \
    || (is(ABSENCE_IS_REMOVAL) && my.sKind == ABSENT) || (is(CHANGE_WINS_UNMARKED) && my.sKind == VALUE))
#define isOver     (my.closed && !is(END_NOT_IN_D))

inline tell() { printf("D %d#%d seen %d over %d  on disk %d#%d  S %d#%d mirror %d mark %d  on disk %d#%d  acknowledged %d  | ",
    D.kind, D.ver, D.seen, D.m, onDisk.kind, onDisk.ver, S.kind, S.ver, S.m, mark, S_onDisk.kind, S_onDisk.ver, acked) }
/* STEP is one step. FAILS is a step that finds S locked. BEGIN begins an operation. */
#define STEP(state, body) :: d_step { my.at == state -> tell(); printf("process %d: %e, %e\n", me, my.op, my.at); body }
#define FAILS(state, body) :: d_step { my.at == state && !alone -> tell(); printf("process %d: %e, %e, locked\n", me, my.op, my.at); body }
#define BEGIN(what) :: d_step { my.at == IDLE && my.ops > 0 -> my.ops--; begin(me, what) }
#define event(what) tell(); printf(what); printf("\n")

proctype Program(bit me) {
    do
    BEGIN(GET) BEGIN(SET) BEGIN(REMOVE) BEGIN(SWEEP)
    :: d_step { my.at == IDLE && my.ops > 0 && ends > 0 -> ends--; my.ops--; begin(me, END) }

    /* Read D. If D says that the window has ended, a get does not read S. */
    STEP(PLACE, lookD();
        if :: my.op == GET && my.kind && (isOver || is(OLDER_WRITE_NOT_SEEN)) -> answer() :: else -> my.at = BOTH fi)
    /* S is locked. A set or remove then writes D without naming a state of S, but fails with SOURCE_WINS. Other operations fail. */
    FAILS(BOTH,
        if
        :: my.op == SET || my.op == REMOVE ->
            my.blind = 1; my.at = (POLICY == SOURCE_WINS -> IDLE : WRITE);
            if :: my.at == IDLE -> forget(me) :: else fi
        :: else -> forget(me)
        fi)
    /* Read the mark and S, and decide by the table. */
    STEP(BOTH, lookS(); my.isClean = 0;
        if
        :: my.op == SET || my.op == REMOVE -> my.at = (my.sM -> WRITE : SYNC)
        :: my.op != SET && my.op != REMOVE && !my.kind ->          /* D is absent: rows 2 and 3. */
            if
            :: my.sKind == VALUE -> my.isClean = 1; my.at = SYNC
            :: else -> if :: my.op == GET -> my.at = LOOK :: else -> forget(me) fi
            fi
        :: my.op != SET && my.op != REMOVE && my.kind && known ->                 /* Rows 4 to 6, or the window has ended. */
            if
            :: my.op == GET && is(READ_NOT_REPEATED) -> answer()
            :: my.op == GET && !is(READ_NOT_REPEATED) -> my.at = LOOK
            :: my.op == END || (my.op == SWEEP && (isOver || is(COLLECTS_IN_WINDOW))) -> my.at = BARRIER
            :: my.op == SWEEP && !isOver && !is(COLLECTS_IN_WINDOW) ->
                if :: inSync && (!APART || my.mark == my.ver) || is(MIRROR_NOT_REPEATED) -> forget(me) :: else -> my.at = BARRIER fi
            fi
        :: my.op != SET && my.op != REMOVE && my.kind && !known && mirrored && !isOver -> my.isClean = 1; my.at = SYNC /* Rows 7 and 8. */
        :: my.op != SET && my.op != REMOVE && my.kind && !known && !(mirrored && !isOver) ->   /* Row 9, or the window has ended. */
            if
            :: my.op == GET && !is(DECIDED_BY_READ) -> my.at = LOOK
            :: my.op != GET && isOver && my.sKind != VALUE -> my.at = BARRIER
            :: else -> my.at = DECIDE
            fi
        fi)
    /* Make S durable before D names its state. */
    STEP(SYNC, if :: is(NOT_SYNCED) -> skip :: else -> persistS() fi;
        my.at = (my.op == SET || my.op == REMOVE -> WRITE : (my.sKind == VALUE -> FOLD : QUARANTINE)))

    /* A set or remove writes D. The precondition is the revision of D that was read. */
    STEP(WRITE,
        if
        :: my.stale -> assert(!alone); my.at = PLACE
        :: else ->
            clock++;
            waiting = waiting && my.op == SET;
            D.kind = (my.op == SET -> VALUE : TOMBSTONE); D.ver = clock; D.m = my.closed;
            if
            :: !my.blind && (!my.sM || is(MIRROR_NAMED)) -> D.seen = my.sVer; D.past = D.past | (my.sKind == VALUE -> bitOf(my.sVer) : 0)
            :: else
            fi;
            my.kind = D.kind; my.ver = clock; my.seen = D.seen;
            changed();
            my.at = (is(MIRROR_BEFORE_D) && !my.blind && !isOver -> MIRROR : FLUSH)
        fi)
    /* Row 2 or 7, or S wins a conflict (row 9): the value that version 1 wrote to S replaces D. */
    STEP(FOLD,
        if
        :: my.stale -> assert(!alone); my.at = PLACE
        :: else ->
            assert(!D.kind || !my.sM);                             /* I2: no mirror replaces D. */
            assert(!D.kind || my.sVer > D.seen);                   /* I2: only a newer state of S than the one that D names replaces D. */
            /* I1: without a conflict, S had the mirror of D, or D was made from S. The check applies only if S is unchanged since it was
             * read. */
            if :: my.isClean && D.kind -> assert(mark == D.ver || D.ver == D.seen || S.ver != my.sVer || S.m) :: else fi;
            if :: my.isClean -> D.ver = my.sVer :: else -> clock++; D.ver = clock fi;
            D.kind = VALUE; D.seen = my.sVer; D.m = my.closed; D.past = D.past | bitOf(my.sVer);
            my.kind = VALUE; my.ver = D.ver; my.seen = D.seen;
            changed();
            my.at = FLUSH
        fi)
    /* Row 8, or a removal that wins a conflict (row 9): quarantine D, and write a tombstone to D. */
    STEP(QUARANTINE,
        if
        :: my.stale -> assert(!alone); my.at = PLACE
        :: else ->
            /* I1: without a conflict, S had the mirror of D, or D was made from S. Otherwise the empty S is no removal. */
            assert(!my.isClean || mark == D.ver || D.ver == D.seen);
            assert(my.sVer > D.seen);                                  /* I2: the removal is newer than the state that D names. */
            if :: is(REMOVAL_UNQUARANTINED) -> skip :: else -> kept = D.ver fi;
            assert(kept == D.ver || D.kind != VALUE);                  /* I1, I6: a removed value is in quarantine. */
            if :: my.isClean -> D.ver = my.sVer :: else -> clock++; D.ver = clock fi;
            D.kind = TOMBSTONE; D.seen = my.sVer; D.m = my.closed;
            my.kind = TOMBSTONE; my.ver = D.ver; my.seen = D.seen;
            changed();
            my.at = FLUSH
        fi)
    /* Row 9: only a sweep decides a conflict. It quarantines the loser first. */
    STEP(DECIDE,
        assert(my.op != GET);
        if
        :: POLICY == SOURCE_WINS -> kept = my.ver; my.at = SYNC
        :: else -> if :: my.sKind == VALUE -> safe = safe | bitOf(my.sVer) :: else fi; my.at = BARRIER
        fi)
    /* D is durable before its mirror is written. */
    STEP(FLUSH, persist();
        if
        :: isOver && (my.op == SWEEP || my.op == END) -> my.at = DROP
        :: my.blind || isOver && my.op != SWEEP && my.op != END -> finish()
        :: is(MIRROR_BEFORE_D) && my.op == SET -> finish()
        :: else -> my.at = MIRROR
        fi)
    /* Make D durable before S is written or deleted, even if another process wrote D. */
    STEP(BARRIER,
        if
        :: my.stale -> my.at = PLACE
        :: else -> persist();
            my.at = (my.op == END && !my.closed -> CLOSE : (my.op == END || isOver || is(COLLECTS_IN_WINDOW) -> DROP : MIRROR))
        fi)
    /* Write the mirror. The precondition is the revision of S that was read. If the store of S has atomic batches, the mark is in the same
     * commit. */
    STEP(MIRROR,
        if :: is(MARK_FIRST) -> mark = my.ver; persistMark() :: else fi;
        if
        :: (S.ver == my.sVer && S.m == my.sM) || is(MIRROR_UNCHECKED) ->
            assert(S.m || S.kind != VALUE || (safe & bitOf(S.ver)));      /* I6: only a safe write is overwritten. */
            S.kind = my.kind; S.ver = my.ver; S.m = 1;
            if :: APART -> skip :: else -> mark = my.ver fi;
            if :: alone -> moved = 1 :: else fi;
            my.at = (is(MIRROR_BEFORE_D) && dirty -> FLUSH : FLUSH_S)
        :: else -> my.at = (is(MIRROR_NOT_REPEATED) -> FLUSH_S : AGAIN)
        fi)
    /* The precondition of the mirror failed. Re-read S, and retry if the mirror is still needed. */
    STEP(AGAIN,
        if
        :: my.stale -> finish()                                     /* D has a newer record. Its writer, or a sweep, mirrors it. */
        :: else -> lookS(); if :: !inSync && known && !isOver -> my.at = MIRROR :: else -> finish() fi
        fi)
    /* The commit of MIRROR returns when the mirror is durable. Without atomic batches, the mark follows in a second commit. */
    STEP(FLUSH_S, persistS(); if :: APART -> my.at = MARK :: else -> finish() fi)
    STEP(MARK, mark = my.ver; my.at = FLUSH_MARK)
    STEP(FLUSH_MARK, persistMark(); finish())

    /* The window ends. First D says so, durably. Then the mark is deleted, and then S. */
    STEP(CLOSE,
        if
        :: my.stale -> my.at = PLACE
        :: else -> D.m = 1; my.closed = 1; changed(); my.at = FLUSH_CLOSE
        fi)
    STEP(FLUSH_CLOSE, persist(); my.at = DROP)
    STEP(DROP, mark = 0; my.at = FLUSH_DROP)
    STEP(FLUSH_DROP, persistS(); persistMark(); my.at = COLLECT)
    /* Delete S. The precondition is the revision of S that was read. */
    STEP(COLLECT,
        if
        :: S.ver == my.sVer && S.m == my.sM ->
            assert(S.m || S.kind != VALUE || (safe & bitOf(S.ver)));      /* I6: only a safe write is deleted. */
            if :: S.kind -> S.kind = ABSENT; S.m = 0; if :: alone -> moved = 1 :: else fi :: else fi
        :: else
        fi;
        my.at = FLUSH_END)
    STEP(FLUSH_END, persistS(); forget(me))

    /* A get re-reads D. */
    STEP(LOOK, lookD(); answer())
    :: alone == 6 -> break
    od
}

/* The disk, the power, deaths of processes, version 1, and the end. At first, S has a value that version 1 wrote. */
init {
    d_step { P[0].at = IDLE; P[1].at = IDLE; P[0].op = NONE; P[1].op = NONE; P[0].ops = OPS; P[1].ops = OPS;
        cuts = CUTS; kills = KILLS; old = OLD; ends = ENDS;
        waiting = 1; clock = 1; S.kind = VALUE; S.ver = 1; S_onDisk.kind = VALUE; S_onDisk.ver = 1 }
    atomic { run Program(0); run Program(1) }
    do
    :: d_step { dirty -> event("the disk writes D back"); persist() }
    :: d_step { S.ver != S_onDisk.ver || S.m != S_onDisk.m || S.kind != S_onDisk.kind || (!APART && mark != mark_onDisk) ->
        event("the disk writes S back"); persistS() }
    :: d_step { APART && mark != mark_onDisk -> event("the disk writes the mark back"); persistMark() }
    :: d_step { cuts > 0 && !alone -> event("POWER CUT");
        cuts--; copyTo(D, onDisk); dirty = 0; copyTo(S, S_onDisk); mark = mark_onDisk; forget(0); forget(1) }
    :: d_step { kills > 0 && !alone && P[0].at != IDLE -> event("PROCESS 0 DIES"); kills--; forget(0) }
    :: d_step { kills > 0 && !alone && P[1].at != IDLE -> event("PROCESS 1 DIES"); kills--; forget(1) }
    /* A new write of version 1 shifts the bits of the earlier ones, as `bitOf` expects. */
    :: d_step { old > 0 && !alone -> event("version 1 writes"); old--; clock++; olds = (olds << 4) | clock;
        safe = (safe & 1) | ((safe & 2) << 1);
        D.past = (D.past & 1) | ((D.past & 2) << 1); onDisk.past = (onDisk.past & 1) | ((onDisk.past & 2) << 1);
        S.kind = VALUE; S.ver = clock; S.m = 0 }
    :: d_step { old > 0 && !alone && S.kind == VALUE -> event("version 1 removes");
        old--; clock++; S.kind = ABSENT; S.ver = clock; S.m = 0; waiting = 0 }
    :: d_step { alone < 6 && P[0].at == IDLE && P[1].at == IDLE && P[0].ops == 0 && P[1].ops == 0 ->
        if
        :: alone == 0 -> begin(0, SWEEP)
        :: alone == 1 ->      /* Version 1 reads the present value. The exceptions: the window has ended, or D is absent. */
            assert(D.m || !D.kind || (S.m && S.ver == D.ver && S.kind == D.kind)); begin(0, SWEEP); moved = 0
        :: alone == 2 -> assert(!moved); begin(0, END)
        :: alone == 3 -> begin(0, SWEEP)
        :: alone == 4 -> assert(S.kind != VALUE && !mark); begin(0, GET)
        :: else
        fi;
        alone++ }
    :: alone == 6 -> break
    od
}
