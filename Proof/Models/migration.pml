/*
 * The migration protocol of one key, for spin. Docs/Model.md says what is modelled, what is not, and how to read what spin finds.
 *
 * One key with a destination D and one older place S. Two processes of the new program get, set, remove and sweep; an old application that knows only
 * S writes there; a tool sets D through a key without the migration; the disk writes back what it likes when it likes; looks find a place locked or
 * unavailable; processes die and the power fails between any two steps. A step is one call to a store, or one flush: what a process works out between
 * two calls is nobody else's to see.
 *
 * Each row of `Program` is a step of the protocol; the comment above it names the functions of Sources/LocalData.
 */

#define DESTINATION_WINS 0
#define SOURCE_WINS      1
#ifndef POLICY
#define POLICY DESTINATION_WINS
#endif
#ifndef OPS
#define OPS 2                 /* operations of each process */
#endif
#ifndef CUTS
#define CUTS 1                /* power cuts */
#endif
#ifndef KILLS
#define KILLS 1               /* deaths of one process; an error after which nobody knows whether the change was made is the same */
#endif
#ifndef OLD
#define OLD 1                 /* changes by the old application, at most 2 */
#endif
#ifndef TOOL
#define TOOL 0                /* sets through a key without the migration */
#endif
#ifndef FOREIGN
#define FOREIGN 0             /* 0: the old application writes records of the library, each with a new revision. 1: bare values, known by their content only */
#endif
#ifndef REWRITES
#define REWRITES 0            /* 1: it also writes a bare value again while a process is about to delete the same value. Nothing can tell the two apart */
#endif

/* Variants of the protocol that are wrong: Scripts/check-model says under which policy, and demands that each is found out. */
#ifndef VARIANT
#define VARIANT 0
#endif
#define NO_PUT_PRECONDITION       1   /* a migration overwrites whatever stands in D by then */
#define NO_DELETE_PRECONDITION    2   /* S is deleted although it was changed since it was read */
#define DELETE_BEFORE_DURABLE     3   /* S is deleted as soon as D is written, and D flushed later */
#define NO_BARRIER                4   /* a value that was found in D, not written, counts as durable */
#define NO_TOMBSTONE              5   /* a removal leaves nothing in D */
#define LOCKED_AS_ABSENT          6
#define UNAVAILABLE_AS_ABSENT     7
#define NO_SECOND_LOOK            8   /* nothing in D, then nothing in S: nothing anywhere */
#define NO_QUARANTINE             9   /* the loser of a conflict is deleted */
#define NO_ORIGIN                10   /* a set or remove does not say which older copy it replaces */
#define REPEATED_REMOVE_UNFLUSHED 11  /* a remove that finds a tombstone trusts that it is on disk */
#define COPY_TAKEN_FOR_CONFLICT  12   /* a sweep that cannot read S at first does not compare it with D's origin afterwards */
#define SOURCE_UNSEEN            13   /* a set or remove goes ahead although S cannot be read, and the source wins conflicts */
#define COPIES_BY_CONTENT        14   /* a record in S with the content that D's origin names is a copy, whoever wrote it when */
#define FOREIGN_COPY_UNSEEN      15   /* the same for a bare value: it is deleted without being quarantined */
#define FOREIGN_COPY_WINS        16   /* a bare value is a new write although its absence was never recorded */
#define ABSENCE_RECORDED_EARLY   17   /* the absence of a bare value is recorded before it is durable */
#define FOREIGN_OVER_TOMBSTONE   18   /* a bare value wins over a removal */
#define EQUAL_NOT_READ_AGAIN     19   /* S is found equal to what D held some time ago */
#define PLAIN_SET_FORGETS        20   /* a set through a key without the migration does not carry the origin */
#define READ_DECIDES             21   /* a get, too, compares S with a value in D */
#define is(variant) (VARIANT == variant)

/* What D is, or a look at it finds. */
#define ABSENT      0
#define VALUE       1
#define TOMBSTONE   2
#define LOCKED      3
#define UNAVAILABLE 4
#define failed      (my.kind >= LOCKED)

/* S is the number of the write that it holds. For a record of the library this is its revision: no two are equal. What the write stored is its content, one of
 * two. A bare value has no revision but its content: there, the number is a ghost, and only `sameState` may compare. */
#define NOTHING     0         /* 1 is there at first; the old application writes 2 and 3 */
#define REMOVED     4         /* a tombstone: an older version of the program removed it */
#define UNREADABLE  5         /* only in `older`: locked or unavailable when it was looked at */
#define isValue(s)  (s >= 1 && s <= 3)
#define content(s)  (1 + ((second >> (s)) & 1))
#define isWriteOf(s, c)    (isValue(s) && content(s) == (c))
#define sameContent(s, t)  (isValue(s) && isValue(t) && content(s) == content(t))
#define sameState(s, t)    ((s) == (t) || (FOREIGN && sameContent(s, t)))

mtype = {
    NONE, GET, SET, REMOVE, SWEEP,                                                                /* what a process does, */
    IDLE, PLACE, SETTLE, SOURCE, SECOND_S, SECOND_D, PUT, FLUSH, VERIFY, COLLECT, FLUSH_S, LOOK,  /* and its next step */
    NAMED, COMPARE, EQUAL, QUARANTINE, BARRIER, SYNC_S, WRITE_D, WRITE_S, WRITE, FLUSH_WRITE
}
typedef Record {
    unsigned kind : 3, val : 2;
    unsigned copy : 2;        /* the origin: the state of S that this replaces; 0: none */
    bit gone;                 /* the origin: that bare value was durably absent afterwards */
    unsigned ver : 4;         /* ghost: the user's change it comes from, in the order of commits; 0: none. Also of an empty slot */
    unsigned past : 4         /* ghost: the set of writes to S that it holds, replaced or descends from */
}
typedef Process {
    mtype at, op;
    unsigned ops : 2;
    unsigned kind : 3, val : 2, copy : 2, ver : 4;   /* what it saw in D */
    bit gone;
    bit stale;                /* D has another revision by now. None is ever used again: only another look clears this */
    unsigned older : 3;       /* what it saw in S */
    unsigned under : 2;       /* ghost: the write that S held when a set or remove looked at it, also in vain; the one that D agreed with */
    unsigned floor : 4;       /* ghost: what was acknowledged when its get began */
    bit gap                   /* ghost: since its get began there was a moment without a value in either place */
}
Record D, onDisk;             /* what everybody sees, and what a power cut leaves */
bit dirty;                    /* D was changed since it was written back */
unsigned S : 3, S_onDisk : 3;
Process P[2];
unsigned cuts : 2, kills : 2, old : 2, tool : 1;
unsigned second : 4;          /* the set of writes to S with the second content */
unsigned alone : 3;           /* 1 to 3: no more faults, and process 0 sweeps, sweeps again, gets; 4: the end */
/* More ghosts: only assertions look at them. */
unsigned changes : 4;         /* of users, so far */
unsigned acked : 4;           /* the newest that was acknowledged */
unsigned safe : 4;            /* a set of writes: the past of all that was in D on disk, and the quarantine */
bit waiting;                  /* 1 was in S at first, and nobody has deleted or replaced it */
bit moved;                    /* D was changed in the last sweep */
unsigned fault : 3;           /* what this look runs into: chosen for one step, and 0 between steps */

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
inline outdate(p) { if :: P[p].at != IDLE -> P[p].stale = 1 :: else fi }
inline changed() {            /* D has a new revision */
    dirty = 1;
    if :: alone -> moved = 1 :: else fi;
    outdate(1 - me);
    note()
}
inline copyTo(to, from) { to.kind = from.kind; to.val = from.val; to.copy = from.copy; to.gone = from.gone; to.ver = from.ver }
inline persist() {            /* D is on disk */
    copyTo(onDisk, D); onDisk.past = D.past; dirty = 0;
    safe = safe | D.past;
    assert(onDisk.ver >= acked)                       /* I1: nothing replaces what was acknowledged but something newer */
}
inline drop(p) {              /* what it saw in D does not matter any more */
    P[p].kind = 0; P[p].val = 0; P[p].copy = 0; P[p].gone = 0; P[p].stale = 0;
    if :: P[p].op != REMOVE -> P[p].ver = 0 :: else fi
}
inline forget(p) { P[p].op = NONE; P[p].at = IDLE; drop(p); P[p].older = 0; P[p].under = 0; P[p].floor = 0; P[p].gap = 0 }
inline begin(p, what, where) {
    P[p].op = what; P[p].at = where;
    if :: what == GET -> P[p].floor = acked; P[p].gap = nothingThere :: else fi
}

#define takenAsAbsent ((fault == LOCKED && is(LOCKED_AS_ABSENT)) || (fault == UNAVAILABLE && is(UNAVAILABLE_AS_ABSENT)))
inline lookD() {
    drop(me); my.ver = 0;
    if :: fault == 0 -> copyTo(my, D) :: takenAsAbsent -> my.kind = ABSENT :: else -> my.kind = fault fi
}
inline lookS() {
    if :: fault == 0 -> my.older = S :: takenAsAbsent -> my.older = NOTHING :: else -> my.older = UNREADABLE fi
}
/* Whether a state of S is one that the origin names. A record of the library is named by its revision. */
#define named(it) (isValue(it.older) && !it.gone && (sameState(it.older, it.copy) || is(COPIES_BY_CONTENT) && sameContent(it.older, it.copy)))
/* Whether a bare value is certain to have been written after the change in D. */
#define mayWin(it) (POLICY == SOURCE_WINS && (!FOREIGN || ((it.kind != TOMBSTONE || is(FOREIGN_OVER_TOMBSTONE)) && (!named(it) || is(FOREIGN_COPY_WINS)))))

inline lookBeforeWriting() {
    lookS();
    my.under = (isValue(S) -> S : 0);
    if :: my.older == UNREADABLE && POLICY == SOURCE_WINS && !is(SOURCE_UNSEEN) -> forget(me) :: else fi
}

inline answer() {             /* a get returns what it saw in D */
    assert(my.ver >= my.floor);                       /* I2, I3: nothing older than what was acknowledged before it began */
    assert(my.kind != ABSENT || my.gap);              /* I4: without a tombstone, nil is proven absence */
    assert(alone != 3 || !waiting || my.kind == VALUE);   /* I1, from end to end */
    forget(me)
}
inline acknowledge() {        /* a set, or a remove, also one that leaves residue: its outcome is `applied` */
    if :: my.ver > acked -> acked = my.ver :: else fi;
    assert(onDisk.ver >= acked);                      /* I1: it is on disk, or something newer */
    forget(me)
}
inline done() {               /* the work in the lane is done */
    if
    :: my.op == GET -> drop(me); my.older = 0; my.at = LOOK
    :: my.op == REMOVE -> acknowledge()
    :: else -> forget(me)
    fi
}
inline again(where) {         /* changed meanwhile */
    assert(!alone);                                   /* liveness: there is nobody else */
    my.at = where
}

/* What `spin -t` prints of a step: the state it begins with, and what is done. A record is kind.content.origin and, behind #, its change. */
inline tell() {
    printf("D %d.%d.%d#%d  on disk %d.%d.%d#%d  S %d.%d  on disk %d  acknowledged %d  | ", D.kind, D.val, D.copy, D.ver,
        onDisk.kind, onDisk.val, onDisk.copy, onDisk.ver, S, (isValue(S) -> content(S) : 0), S_onDisk, acked)
}
inline tellStep() {
    tell(); printf("process %d: %e, %e", me, my.op, my.at);
    if :: fault == LOCKED -> printf(", locked\n") :: fault == UNAVAILABLE -> printf(", unavailable\n") :: else -> printf("\n") fi
}
#define tellEvent(what) tell(); printf(what); printf("\n")

/* A step; and one that looks at a store, which may be locked or unavailable. */
#define STEP(state, body) :: d_step { my.at == state -> tellStep(); body; fault = 0 }
#define CALL(state, body) STEP(state, body) \
    :: d_step { my.at == state && !alone -> fault = LOCKED; tellStep(); body; fault = 0 } \
    :: d_step { my.at == state && !alone -> fault = UNAVAILABLE; tellStep(); body; fault = 0 }
#define BEGIN(what, where) :: d_step { my.at == IDLE && my.ops > 0 -> my.ops--; begin(me, what, where) }

proctype Program(bit me) {
    do
    BEGIN(GET, PLACE)
    BEGIN(SET, WRITE_D)
    BEGIN(REMOVE, WRITE_D)
    BEGIN(SWEEP, SETTLE)

    /* ValueReader.readInPlace */
    CALL(PLACE, lookD();
        if
        :: failed -> forget(me)
        :: my.kind == ABSENT || is(READ_DECIDES) && my.kind == VALUE -> my.at = SETTLE
        :: else -> answer()
        fi)
    /* Settler.settle: the state table */
    CALL(SETTLE, lookD();
        if
        :: failed -> forget(me)
        :: my.kind == ABSENT -> my.at = SOURCE
        :: my.kind != ABSENT && !failed && (my.op == SWEEP || is(READ_DECIDES)) -> my.at = NAMED
        :: else -> done()
        fi)
    /* Settler.fill, Mover.attempt, SourceReader.read */
    CALL(SOURCE, lookS();
        if
        :: my.older == UNREADABLE -> forget(me)
        :: my.older == REMOVED -> done()
        :: my.older == NOTHING && is(NO_SECOND_LOOK) && my.op == GET -> answer()
        :: my.older == NOTHING && !(is(NO_SECOND_LOOK) && my.op == GET) -> my.at = SECOND_S
        :: else -> my.at = PUT
        fi)
    /* Settler.isFilledMeanwhile: the second look, in the direction in which values travel */
    CALL(SECOND_S, lookS();
        if :: my.older == UNREADABLE -> forget(me) :: isValue(my.older) -> my.at = SETTLE :: else -> my.at = SECOND_D fi)
    CALL(SECOND_D, lookD();
        if :: failed -> forget(me) :: my.kind == ABSENT -> done() :: else -> again(SETTLE) fi)

    /* Mover.move, DurableWriter; also Reconciler.resolve and replace, where what stands in D makes room under its revision */
    STEP(PUT,
        if
        :: !my.stale || is(NO_PUT_PRECONDITION) ->
            assert(my.kind == ABSENT || my.op == SWEEP);   /* a read does not decide */
            assert(my.kind == ABSENT || !(D.past & (1 << my.older)));   /* I2: nothing that the record in D replaced replaces it */
            assert(my.kind != TOMBSTONE || !FOREIGN);      /* I3: no bare value proves that it was written after a removal */
            D.past = (my.kind == ABSENT -> 0 : D.past) | (1 << my.older);
            D.ver = (my.kind == ABSENT -> 0 : D.ver);
            D.kind = VALUE; D.val = content(my.older); D.copy = my.older; D.gone = 0;
            changed(); drop(me);
            my.at = (is(DELETE_BEFORE_DURABLE) -> COLLECT : FLUSH)
        :: else -> again(SETTLE)
        fi)
    STEP(FLUSH, persist();
        if :: is(DELETE_BEFORE_DURABLE) -> done() :: else -> my.at = VERIFY fi)
    /* Committer.readBack: what others wrote after us is as good */
    CALL(VERIFY, lookD();
        if :: failed || my.kind == ABSENT -> forget(me) :: else -> drop(me); my.at = COLLECT fi)
    /* Collector.collect: delete S on condition of the revision that was read. What cannot be deleted is residue */
    CALL(COLLECT,
        if
        :: fault == 0 && (sameState(S, my.older) || (isValue(S) && is(NO_DELETE_PRECONDITION))) ->
            assert(safe & (1 << S));                  /* I1, I6: nothing is deleted that is not safe on disk */
            S = NOTHING; my.older = 0;
            note();
            my.at = FLUSH_S
        :: else -> done()
        fi)
    STEP(FLUSH_S, S_onDisk = S;
        if
        :: is(DELETE_BEFORE_DURABLE) && my.op != REMOVE -> my.at = FLUSH
        :: else -> done()
        fi)
    /* ValueReader.read: whoever joined looks again */
    CALL(LOOK, lookD();
        if :: failed -> forget(me) :: else -> answer() fi)

    /* Reconciler.collectCopies: copies that the record names. A bare value with their content may also be a new write */
    CALL(NAMED, lookS();
        my.at = (named(my) && (!FOREIGN || is(FOREIGN_COPY_UNSEEN)) -> BARRIER : COMPARE))
    /* Reconciler.reconcile(step): a copy that could not be read a moment ago, the same value, or a conflict */
    CALL(COMPARE, lookS();
        if
        :: !isValue(my.older) -> done()
        :: isValue(my.older) && named(my) && !FOREIGN && !is(COPY_TAKEN_FOR_CONFLICT) -> my.at = BARRIER
        :: isWriteOf(my.older, my.val) && my.kind == VALUE && !(named(my) && !FOREIGN && !is(COPY_TAKEN_FOR_CONFLICT)) ->
            my.at = EQUAL
        :: else -> my.at = QUARANTINE
        fi)
    /* Reconciler.reconcile(step): D still holds what S was found equal to, after S was read. So that write to S says what D says */
    CALL(EQUAL,
        if
        :: fault -> forget(me)
        :: !fault && my.stale && !is(EQUAL_NOT_READ_AGAIN) -> again(SETTLE)
        :: else ->
            if :: !my.stale -> my.under = my.older :: else fi;
            my.at = BARRIER
        fi)
    /* Reconciler.resolve: the loser is in quarantine, durably, before anything goes */
    STEP(QUARANTINE,
        assert(my.op == SWEEP);                           /* a read does not decide */
        if
        :: mayWin(my) -> my.at = PUT
        :: else ->
            if :: is(NO_QUARANTINE) -> skip :: else -> safe = safe | (1 << my.older) fi;
            my.at = BARRIER
        fi)
    /* Collector.settledDurability: what was found, not written, is made durable first */
    STEP(BARRIER,
        if :: is(NO_BARRIER) -> skip :: else -> persist(); safe = safe | (1 << my.under) fi;
        drop(me); my.under = 0;
        if :: isValue(my.older) -> my.at = COLLECT :: else -> acknowledge() fi)

    /* ValueWriter.store and bury: the place, then LegacyLocations.read. An S that cannot be read is no obstacle */
    CALL(WRITE_D, lookD();
        if :: failed -> forget(me) :: else -> my.at = WRITE_S fi)
    CALL(WRITE_S, lookBeforeWriting();
        if
        :: my.op == REMOVE && my.kind == TOMBSTONE && (!isValue(my.older) || named(my) && !FOREIGN) ->
            /* bury: removed before, nothing new to name; but whoever wrote the tombstone may have died before it was on disk */
            if :: !isValue(my.older) && is(REPEATED_REMOVE_UNFLUSHED) -> acknowledge() :: else -> my.at = BARRIER fi
        :: my.op == NONE -> skip
        :: else -> my.at = (FOREIGN && my.older == NOTHING && my.copy && !my.gone -> SYNC_S : WRITE)
        fi)
    /* Origins.isDurablyEmpty: the place of a bare value that the origin names was seen empty. Once that lasts, it is recorded with the change: what is met there
     * afterwards was written afterwards */
    STEP(SYNC_S,
        if :: is(ABSENCE_RECORDED_EARLY) -> skip :: else -> S_onDisk = S fi;
        my.gone = 1; my.at = WRITE)
    /* Committer.commit, with Origins.carried */
    STEP(WRITE,
        if
        :: !my.stale ->
            changes++;
            D.kind = (my.op == SET -> VALUE : (is(NO_TOMBSTONE) -> ABSENT : TOMBSTONE));
            D.val = (my.op == SET -> 2 - me : 0);
            D.gone = (isValue(my.older) || is(NO_ORIGIN) -> 0 : my.gone);
            D.copy = (is(NO_ORIGIN) -> 0 : (isValue(my.older) -> my.older : my.copy));
            D.ver = changes;
            D.past = D.past | (1 << my.under);
            my.under = 0;
            waiting = 0;
            changed(); drop(me);
            my.ver = changes;
            my.at = FLUSH_WRITE
        :: else -> again(WRITE_D)
        fi)
    STEP(FLUSH_WRITE, persist();
        if :: my.op == REMOVE && isValue(my.older) -> my.at = BARRIER :: else -> acknowledge() fi)

    :: alone == 4 -> break
    od
}

/* The old application. It does not wait for the disk, and knows no revision but its own. */
#define newWrite (2 + OLD - old)
#define isAboutToDelete(c) (isWriteOf(P[0].older, c) || isWriteOf(P[1].older, c))
#define mayWrite(c) (old > 0 && !alone && (!FOREIGN || !isWriteOf(S, c) && (REWRITES || !isAboutToDelete(c))))
inline writeS() { S = newWrite; old--; if :: POLICY == SOURCE_WINS -> S_onDisk = S :: else fi }

/* The disk, the power, the old application, the tool, and the end. */
init {
    d_step { forget(0); P[0].ops = OPS; forget(1); P[1].ops = OPS; cuts = CUTS; kills = KILLS; old = OLD; tool = TOOL }
    atomic {
        if :: S = NOTHING :: S = 1; waiting = 1 :: S = REMOVED fi;
        S_onDisk = S;
        run Program(0); run Program(1)
    }
    do
    :: d_step { dirty -> tellEvent("the disk writes D back"); persist() }
    :: d_step { S != S_onDisk -> tellEvent("the disk writes S back"); S_onDisk = S }
    :: d_step { cuts > 0 && !alone -> tellEvent("POWER CUT"); cuts--;
        copyTo(D, onDisk); D.past = onDisk.past; dirty = 0; S = S_onDisk; forget(0); forget(1) }
    :: d_step { kills > 0 && !alone && P[0].at != IDLE -> tellEvent("PROCESS 0 DIES"); kills--; forget(0) }
    :: d_step { kills > 0 && !alone && P[1].at != IDLE -> tellEvent("PROCESS 1 DIES"); kills--; forget(1) }
    :: d_step { mayWrite(1) -> tellEvent("the old application writes content 1"); writeS() }
    :: d_step { mayWrite(2) -> tellEvent("the old application writes content 2"); second = second | (1 << newWrite); writeS() }
    :: d_step { old > 0 && !alone && S != NOTHING -> tellEvent("the old application deletes"); old--; S = NOTHING; waiting = 0; note() }
    :: d_step { tool > 0 && !alone -> tellEvent("a tool sets content 1"); tool--; changes++; waiting = 0;
        D.kind = VALUE; D.val = 1; D.ver = changes;
        if :: is(PLAIN_SET_FORGETS) -> D.copy = 0; D.gone = 0 :: else fi;
        dirty = 1; outdate(0); outdate(1); note() }
    :: d_step { alone < 4 && P[0].at == IDLE && P[1].at == IDLE && P[0].ops == 0 && P[1].ops == 0 ->
        if
        :: alone == 0 -> begin(0, SWEEP, SETTLE)
        :: alone == 1 -> assert(!isValue(S)); begin(0, SWEEP, SETTLE); moved = 0    /* liveness: one sweep was enough */
        :: alone == 2 -> assert(!moved); begin(0, GET, PLACE)                        /* I5: the second changed nothing */
        :: else
        fi;
        alone++ }
    :: alone == 4 -> break
    od
}
