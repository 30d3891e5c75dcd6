/*
 * A release window of one key, for spin. Docs/Windows.md has the table; Docs/Model.md says how to read what spin finds.
 *
 * Programs of version 2 read and write D and mirror it to S. A program of version 1 knows only S, and writes and deletes there without a
 * look. One of the programs may end the window while others still keep it. Processes die, the power fails, S cannot be reached.
 *
 * `ver` numbers every change in the order in which it happened, whoever made it. It is the revision of a record of D; a mirror has the
 * number of the record that it mirrors, and the bit `m`. `mark` is the record beside S that is committed with each mirror, and that
 * version 1 does not know.
 */
#define DESTINATION_WINS 0
#define SOURCE_WINS      1
#ifndef POLICY
#define POLICY DESTINATION_WINS
#endif
#ifndef OPS
#define OPS 2
#endif
#ifndef CUTS
#define CUTS 1
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef OLD
#define OLD 2                 /* changes by version 1 */
#endif
#ifndef ENDS
#define ENDS 0                /* how often a program ends the window while others keep it */
#endif
#ifndef APART
#define APART 0               /* the store of S commits a mirror and its mark one after the other */
#endif
#ifndef VARIANT
#define VARIANT 0
#endif
#define COLLECTS_IN_WINDOW     1   /* a sweep deletes S as if there were no window */
#define OLDER_WRITE_NOT_SEEN   2   /* a get looks at D only */
#define MIRROR_UNCHECKED       3   /* a mirror overwrites whatever stands in S */
#define MIRROR_BEFORE_D        4   /* a mirror is written before D is durable */
#define ABSENCE_IS_REMOVAL     5   /* S is empty: version 1 removed it, whether or not it ever held the mirror */
#define CHANGE_WINS_UNMARKED   6   /* S changed: it wins, whether or not it held what D is now */
#define STALE_MIRROR_WINS      7   /* a mirror of an earlier D counts as a write of version 1 */
#define END_NOT_IN_D           8   /* D does not say that the window ended */
#define MIRROR_NOT_REPEATED   9   /* a mirror whose precondition failed is given up, and no sweep repeats it */
#define NOT_SYNCED            10   /* what version 1 wrote is named before it is durable */
#define REMOVAL_UNQUARANTINED 11
#define MIRROR_NAMED          12   /* the origin of D names a mirror in the place of what version 1 wrote before it */
#define FOLD_NOT_MARKED       13   /* D does not say that it was made of S */
#define DECIDED_BY_READ       14   /* a get decides a conflict */
#define MARK_FIRST            15   /* the mark is written before the mirror, where they are committed one after the other */
#define READ_NOT_REPEATED     16   /* a get answers with what D held before it looked at S */
#define is(variant) (VARIANT == variant)

#define ABSENT    0
#define VALUE     1
#define TOMBSTONE 2

mtype = { NONE, GET, SET, REMOVE, SWEEP, END,
    IDLE, PLACE, BOTH, SYNC, WRITE, FOLD, DECIDE, QUARANTINE, FLUSH, BARRIER, MIRROR, FLUSH_S, MARK, FLUSH_MARK, AGAIN,
    CLOSE, FLUSH_CLOSE, DROP, FLUSH_DROP, COLLECT, FLUSH_END, LOOK }
typedef Slot {
    unsigned kind : 2, ver : 4;
    unsigned seen : 4;        /* D: the state of S that its writer saw, carried; S: not used */
    bit m;                    /* S: a mirror; D: the window of this key is over */
    unsigned past : 4         /* ghost: the writes of version 1 that it holds, replaced or descends from */
}
typedef Process {
    mtype at, op;
    unsigned ops : 2;
    unsigned kind : 2, ver : 4, seen : 4;
    bit closed, stale;        /* D as it was seen; whether it has another revision by now */
    unsigned sKind : 2, sVer : 4, mark : 4;
    bit sM, blind;            /* S as it was seen; it could not be read */
    bit isClean;              /* the change in S was made over the mirror of D */
    unsigned floor : 4
}
Slot D, onDisk, S, S_onDisk;
bit dirty;
unsigned mark : 4, mark_onDisk : 4;
Process P[2];
unsigned cuts : 2, kills : 2, old : 2, ends : 1, alone : 3;
unsigned clock : 4;
unsigned acked : 4;
unsigned olds : 12;           /* ghost: the numbers of the writes of version 1, four bits each */
unsigned safe : 4;            /* ghost: which of them are in D's past on disk, or in quarantine */
unsigned kept : 4;            /* ghost: the last record of D that is in quarantine */
bit moved, waiting;            /* ghost: D or S was changed in the last sweep; nobody has removed the value */

#define my P[me]
#define bitOf(v)  ((v) == 1 -> 1 : ((v) == (olds & 15) && (v) -> 2 : ((v) == ((olds >> 4) & 15) && (v) -> 4 : 0)))
#define outOfSync (!S.m && (mark == D.ver || D.ver == D.seen) && S.ver != D.ver)

inline copyTo(to, from) { to.kind = from.kind; to.ver = from.ver; to.seen = from.seen; to.m = from.m; to.past = from.past }
inline outdate(p) { if :: P[p].at != IDLE -> P[p].stale = 1 :: else fi }
inline changed() { dirty = 1; outdate(1 - me); my.stale = 0; if :: alone -> moved = 1 :: else fi }
inline persist() { copyTo(onDisk, D); dirty = 0; safe = safe | D.past; assert(onDisk.ver >= acked) }     /* I1 */
inline persistMark() { mark_onDisk = mark }
inline persistS() { copyTo(S_onDisk, S); if :: APART -> skip :: else -> persistMark() fi }
inline forget(p) {
    P[p].at = IDLE; P[p].op = NONE; P[p].kind = 0; P[p].ver = 0; P[p].seen = 0; P[p].closed = 0; P[p].stale = 0;
    P[p].sKind = 0; P[p].sVer = 0; P[p].sM = 0; P[p].mark = 0; P[p].blind = 0; P[p].isClean = 0; P[p].floor = 0
}
inline begin(p, what) {
    P[p].op = what; P[p].at = PLACE;
    /* What must be seen: what was acknowledged, and what version 1 wrote over the mirror of D, while the window is open. */
    if :: what == GET -> P[p].floor = (outOfSync && !D.m && D.kind && S.ver > acked -> S.ver : acked) :: else fi
}
inline lookD() { my.kind = D.kind; my.ver = D.ver; my.seen = D.seen; my.closed = D.m; my.stale = 0 }
inline lookS() { my.sKind = S.kind; my.sVer = S.ver; my.sM = S.m; my.mark = mark }
inline answer() { assert(my.ver >= my.floor); assert(alone != 5 || !waiting || my.kind == VALUE); forget(me) }        /* I2, I3 */
inline acknowledge() { if :: my.ver > acked -> acked = my.ver :: else fi; assert(onDisk.ver >= acked); forget(me) }
inline finish() {
    if :: my.op == GET -> my.at = LOOK :: my.op == SET || my.op == REMOVE -> acknowledge() :: else -> forget(me) fi
}
/* What S is to D. */
#define known      (my.sVer == my.seen || (my.sM && !is(STALE_MIRROR_WINS)) || my.sVer == my.ver)
#define inSync     (my.sM && my.sVer == my.ver)
#define mirrored   (my.mark == my.ver || (my.ver == my.seen && !is(FOLD_NOT_MARKED)) \
    || (is(ABSENCE_IS_REMOVAL) && my.sKind == ABSENT) || (is(CHANGE_WINS_UNMARKED) && my.sKind == VALUE))
#define isOver     (my.closed && !is(END_NOT_IN_D))

inline tell() { printf("D %d#%d seen %d over %d  on disk %d#%d  S %d#%d mirror %d mark %d  on disk %d#%d  acknowledged %d  | ",
    D.kind, D.ver, D.seen, D.m, onDisk.kind, onDisk.ver, S.kind, S.ver, S.m, mark, S_onDisk.kind, S_onDisk.ver, acked) }
#define STEP(state, body) :: d_step { my.at == state -> tell(); printf("process %d: %e, %e\n", me, my.op, my.at); body }
#define FAILS(state, body) :: d_step { my.at == state && !alone -> tell(); printf("process %d: %e, %e, locked\n", me, my.op, my.at); body }
#define BEGIN(what) :: d_step { my.at == IDLE && my.ops > 0 -> my.ops--; begin(me, what) }
#define event(what) tell(); printf(what); printf("\n")

proctype Program(bit me) {
    do
    BEGIN(GET) BEGIN(SET) BEGIN(REMOVE) BEGIN(SWEEP)
    :: d_step { my.at == IDLE && my.ops > 0 && ends > 0 -> ends--; my.ops--; begin(me, END) }

    STEP(PLACE, lookD();
        if :: my.op == GET && my.kind && (isOver || is(OLDER_WRITE_NOT_SEEN)) -> answer() :: else -> my.at = BOTH fi)
    FAILS(BOTH,
        if
        :: my.op == SET || my.op == REMOVE ->
            my.blind = 1; my.at = (POLICY == SOURCE_WINS -> IDLE : WRITE);
            if :: my.at == IDLE -> forget(me) :: else fi
        :: else -> forget(me)
        fi)
    STEP(BOTH, lookS(); my.isClean = 0;
        if
        :: my.op == SET || my.op == REMOVE -> my.at = (my.sM -> WRITE : SYNC)
        :: my.op != SET && my.op != REMOVE && !my.kind ->          /* nothing in D */
            if
            :: my.sKind == VALUE -> my.isClean = 1; my.at = SYNC
            :: else -> if :: my.op == GET -> my.at = LOOK :: else -> forget(me) fi
            fi
        :: my.op != SET && my.op != REMOVE && my.kind && known ->
            if
            :: my.op == GET && is(READ_NOT_REPEATED) -> answer()
            :: my.op == GET && !is(READ_NOT_REPEATED) -> my.at = LOOK
            :: my.op == END || (my.op == SWEEP && (isOver || is(COLLECTS_IN_WINDOW))) -> my.at = BARRIER
            :: my.op == SWEEP && !isOver && !is(COLLECTS_IN_WINDOW) ->
                if :: inSync && (!APART || my.mark == my.ver) || is(MIRROR_NOT_REPEATED) -> forget(me) :: else -> my.at = BARRIER fi
            fi
        :: my.op != SET && my.op != REMOVE && my.kind && !known && mirrored && !isOver -> my.isClean = 1; my.at = SYNC
        :: my.op != SET && my.op != REMOVE && my.kind && !known && !(mirrored && !isOver) ->   /* both changed */
            if
            :: my.op == GET && !is(DECIDED_BY_READ) -> my.at = LOOK
            :: my.op != GET && isOver && my.sKind != VALUE -> my.at = BARRIER
            :: else -> my.at = DECIDE
            fi
        fi)
    STEP(SYNC, if :: is(NOT_SYNCED) -> skip :: else -> persistS() fi;
        my.at = (my.op == SET || my.op == REMOVE -> WRITE : (my.sKind == VALUE -> FOLD : QUARANTINE)))

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
    /* version 1 wrote S over the mirror of D, or D is empty: D becomes what S is */
    STEP(FOLD,
        if
        :: my.stale -> assert(!alone); my.at = PLACE
        :: else ->
            assert(!D.kind || !my.sM);                             /* I2: a mirror is older than D, */
            assert(!D.kind || my.sVer > D.seen);                   /* and so is what D's writer saw, and what stood there before */
            /* D was in S when version 1 wrote there */
            if :: my.isClean && D.kind -> assert(mark == D.ver || D.ver == D.seen || S.ver != my.sVer || S.m) :: else fi;
            if :: my.isClean -> D.ver = my.sVer :: else -> clock++; D.ver = clock fi;
            D.kind = VALUE; D.seen = my.sVer; D.m = my.closed; D.past = D.past | bitOf(my.sVer);
            my.kind = VALUE; my.ver = D.ver; my.seen = D.seen;
            changed();
            my.at = FLUSH
        fi)
    /* version 1 removed the mirror of D; or its removal wins a conflict */
    STEP(QUARANTINE,
        if
        :: my.stale -> assert(!alone); my.at = PLACE
        :: else ->
            assert(!my.isClean || mark == D.ver || D.ver == D.seen);   /* I1: nothing but a removal removes */
            assert(my.sVer > D.seen);
            if :: is(REMOVAL_UNQUARANTINED) -> skip :: else -> kept = D.ver fi;
            assert(kept == D.ver || D.kind != VALUE);
            if :: my.isClean -> D.ver = my.sVer :: else -> clock++; D.ver = clock fi;
            D.kind = TOMBSTONE; D.seen = my.sVer; D.m = my.closed;
            my.kind = TOMBSTONE; my.ver = D.ver; my.seen = D.seen;
            changed();
            my.at = FLUSH
        fi)
    /* both changed: only a sweep decides, the loser is in quarantine first */
    STEP(DECIDE,
        assert(my.op != GET);
        if
        :: POLICY == SOURCE_WINS -> kept = my.ver; my.at = SYNC
        :: else -> if :: my.sKind == VALUE -> safe = safe | bitOf(my.sVer) :: else fi; my.at = BARRIER
        fi)
    STEP(FLUSH, persist();
        if
        :: isOver && (my.op == SWEEP || my.op == END) -> my.at = DROP
        :: my.blind || isOver && my.op != SWEEP && my.op != END -> finish()
        :: is(MIRROR_BEFORE_D) && my.op == SET -> finish()
        :: else -> my.at = MIRROR
        fi)
    STEP(BARRIER,
        if
        :: my.stale -> my.at = PLACE
        :: else -> persist();
            my.at = (my.op == END && !my.closed -> CLOSE : (my.op == END || isOver || is(COLLECTS_IN_WINDOW) -> DROP : MIRROR))
        fi)
    /* on S's revision, with the mark; in one commit, if the store can */
    STEP(MIRROR,
        if :: is(MARK_FIRST) -> mark = my.ver; persistMark() :: else fi;
        if
        :: (S.ver == my.sVer && S.m == my.sM) || is(MIRROR_UNCHECKED) ->
            assert(S.m || S.kind != VALUE || (safe & bitOf(S.ver)));      /* I6 */
            S.kind = my.kind; S.ver = my.ver; S.m = 1;
            if :: APART -> skip :: else -> mark = my.ver fi;
            if :: alone -> moved = 1 :: else fi;
            my.at = (is(MIRROR_BEFORE_D) && dirty -> FLUSH : FLUSH_S)
        :: else -> my.at = (is(MIRROR_NOT_REPEATED) -> FLUSH_S : AGAIN)
        fi)
    STEP(AGAIN,
        if
        :: my.stale -> finish()                                     /* a newer change is mirrored by whoever made it, or by a sweep */
        :: else -> lookS(); if :: !inSync && known && !isOver -> my.at = MIRROR :: else -> finish() fi
        fi)
    STEP(FLUSH_S, persistS(); if :: APART -> my.at = MARK :: else -> finish() fi)
    STEP(MARK, mark = my.ver; my.at = FLUSH_MARK)
    STEP(FLUSH_MARK, persistMark(); finish())

    /* The window ends: first D says so, durably; then the mark goes, then S */
    STEP(CLOSE,
        if
        :: my.stale -> my.at = PLACE
        :: else -> D.m = 1; my.closed = 1; changed(); my.at = FLUSH_CLOSE
        fi)
    STEP(FLUSH_CLOSE, persist(); my.at = DROP)
    STEP(DROP, mark = 0; my.at = FLUSH_DROP)
    STEP(FLUSH_DROP, persistS(); persistMark(); my.at = COLLECT)
    STEP(COLLECT,
        if
        :: S.ver == my.sVer && S.m == my.sM ->
            assert(S.m || S.kind != VALUE || (safe & bitOf(S.ver)));
            if :: S.kind -> S.kind = ABSENT; S.m = 0; if :: alone -> moved = 1 :: else fi :: else fi
        :: else
        fi;
        my.at = FLUSH_END)
    STEP(FLUSH_END, persistS(); forget(me))

    STEP(LOOK, lookD(); answer())
    :: alone == 6 -> break
    od
}

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
    :: d_step { old > 0 && !alone -> event("version 1 writes"); old--; clock++; olds = (olds << 4) | clock; 
        safe = (safe & 1) | ((safe & 2) << 1);
        D.past = (D.past & 1) | ((D.past & 2) << 1); onDisk.past = (onDisk.past & 1) | ((onDisk.past & 2) << 1);
        S.kind = VALUE; S.ver = clock; S.m = 0 }
    :: d_step { old > 0 && !alone && S.kind == VALUE -> event("version 1 removes");
        old--; clock++; S.kind = ABSENT; S.ver = clock; S.m = 0; waiting = 0 }
    :: d_step { alone < 6 && P[0].at == IDLE && P[1].at == IDLE && P[0].ops == 0 && P[1].ops == 0 ->
        if
        :: alone == 0 -> begin(0, SWEEP)
        :: alone == 1 ->      /* version 1 reads the truth; or the window is over, and nothing is left */
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
