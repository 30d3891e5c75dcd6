/*
 * The migration protocol of one key, as a model for spin. README.md describes what is modelled, what is not, and how to read a
 * counter-example. Docs/Glossary.md defines the terms.
 *
 * The key has a destination D and one legacy location S. Two processes of the new program get, set, remove and sweep. An old application
 * uses only S: it writes and deletes S. A tool sets D through a key without the migration. The disk may write back D or S at any time. A
 * probe may find D or S locked or unavailable. Between any two steps, a process may die, or the power may fail.
 *
 * A step is one call to a store, or one flush. Other processes cannot see what a process computes between two calls. So the computation
 * belongs to the step of the call before it.
 *
 * Each row of `Program` is a step. The comment above a row names the functions of Sources/LocalData. A variable marked as *ghost* records
 * the history for the assertions. No rule of the protocol reads it.
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
#define KILLS 1               /* The number of deaths of processes. An error with an unknown outcome is modelled as a death. */
#endif
#ifndef OLD
#define OLD 1                 /* The number of changes by the old application, at most 2. */
#endif
#ifndef TOOL
#define TOOL 0                /* The number of sets through a key without the migration. */
#endif
#ifndef FOREIGN
#define FOREIGN 0             /* 0: The old application writes records of the library, each with a new revision.
                                 1: It writes bare values, without metadata. */
#endif
#ifndef REWRITES
#define REWRITES 0            /* 1: The old application may write a bare value again while a process is about to delete it. The process
                                 cannot distinguish the two writes. */
#endif

/* Each variant omits one rule of the protocol. Scripts/check-model defines its policy and bounds, and requires that it violates an
 * assertion. */
#ifndef VARIANT
#define VARIANT 0
#endif
#define NO_PUT_PRECONDITION       1   /* A migration writes D without a precondition. */
#define NO_DELETE_PRECONDITION    2   /* S is deleted even if it was changed after it was read. */
#define DELETE_BEFORE_DURABLE     3   /* S is deleted before the new record in D is flushed. */
#define NO_BARRIER                4   /* A record that was read from D counts as durable. */
#define NO_TOMBSTONE              5   /* A remove leaves D empty, without a tombstone. */
#define LOCKED_AS_ABSENT          6   /* A locked slot counts as absent. */
#define UNAVAILABLE_AS_ABSENT     7   /* An unavailable slot counts as absent. */
#define NO_SECOND_LOOK            8   /* A get returns nil after one probe of D and one probe of S. */
#define NO_QUARANTINE             9   /* The loser of a conflict is deleted, and is not in quarantine. */
#define NO_ORIGIN                10   /* The record of a set or remove has no origin. */
#define REPEATED_REMOVE_UNFLUSHED 11  /* A remove that finds a tombstone is acknowledged without a flush of D. */
#define COPY_TAKEN_FOR_CONFLICT  12   /* If the first probe of S fails, a sweep does not compare S with D's origin after the second. */
#define SOURCE_UNSEEN            13   /* With SOURCE_WINS, a set or remove writes D although S cannot be read. */
#define COPIES_BY_CONTENT        14   /* A record in S counts as a copy if D's origin names its content, but not its revision. */
#define FOREIGN_COPY_UNSEEN      15   /* A bare value whose content D's origin names is deleted, and is not in quarantine. */
#define FOREIGN_COPY_WINS        16   /* A bare value whose content D's origin names wins a conflict without a recorded absence. */
#define ABSENCE_RECORDED_EARLY   17   /* The absence of a bare value is recorded before the empty S is durable. */
#define FOREIGN_OVER_TOMBSTONE   18   /* A bare value wins a conflict with a tombstone. */
#define EQUAL_NOT_READ_AGAIN     19   /* D is not re-read after S was found equal to it. */
#define PLAIN_SET_FORGETS        20   /* A set through a key without the migration drops D's origin. */
#define READ_DECIDES             21   /* A get compares S with a value in D, like a sweep. */
#define is(variant) (VARIANT == variant)

/* The kind of a record in D, or the result of a probe of D. */
#define ABSENT      0
#define VALUE       1
#define TOMBSTONE   2
#define LOCKED      3
#define UNAVAILABLE 4
#define failed      (my.kind >= LOCKED)

/* S has the number of the write that it stores. For a record of the library, this number is its revision, so every number is unique. Each
 * write has one of two contents. A bare value has no revision, and the rules can compare only its content. Its number is a ghost. So the
 * rules compare two states of S only with `sameState`. */
#define NOTHING     0         /* S is empty. The numbers 1 to 3 are values: S may have 1 at first. The old application writes 2 and 3. */
#define REMOVED     4         /* S has a tombstone, which an older version of the program wrote. */
#define UNREADABLE  5         /* Only in `older`: the probe found S locked or unavailable. */
#define isValue(s)  (s >= 1 && s <= 3)
#define content(s)  (1 + ((second >> (s)) & 1))
#define isWriteOf(s, c)    (isValue(s) && content(s) == (c))
#define sameContent(s, t)  (isValue(s) && isValue(t) && content(s) == content(t))
#define sameState(s, t)    ((s) == (t) || (FOREIGN && sameContent(s, t)))

mtype = {
    NONE, GET, SET, REMOVE, SWEEP,                                                                /* The operations of a process. */
    IDLE, PLACE, SETTLE, SOURCE, SECOND_S, SECOND_D, PUT, FLUSH, VERIFY, COLLECT, FLUSH_S, LOOK,  /* The steps of an operation. */
    NAMED, COMPARE, EQUAL, QUARANTINE, BARRIER, SYNC_S, WRITE_D, WRITE_S, WRITE, FLUSH_WRITE
}
typedef Record {
    unsigned kind : 3, val : 2;
    unsigned copy : 2;        /* Origin: the state of S that this record replaced, or 0. */
    bit gone;                 /* Origin: S was durably empty after it had the bare value of `copy`. */
    unsigned ver : 4;         /* Ghost: the number of the last set or remove, in commit order. An empty D keeps it. A migration into an
                                 empty D resets it to 0. */
    unsigned past : 4         /* Ghost: the set of writes to S that the record has, replaced or descends from. */
}
typedef Process {
    mtype at, op;
    unsigned ops : 2;
    unsigned kind : 3, val : 2, copy : 2, ver : 4;   /* The result of its last probe of D. */
    bit gone;
    bit stale;                /* D has another revision since that probe. No revision is used again, so only a new probe clears this. */
    unsigned older : 3;       /* The result of its last probe of S. */
    unsigned under : 2;       /* Ghost. In a set or remove: the write that S had at the probe of S, even if the probe failed.
                                 In a sweep: the write in S that was found equal to D. */
    unsigned floor : 4;       /* Ghost: the newest acknowledged change when its get began. */
    bit gap                   /* Ghost: since its get began, there was a moment in which neither D nor S had a value. */
}
Record D, onDisk;             /* D as all processes see it, and D as a power loss leaves it. */
bit dirty;                    /* D was changed since the disk last wrote it back. */
unsigned S : 3, S_onDisk : 3; /* The number of the write in S, as all processes see it, and as a power loss leaves it. */
Process P[2];
unsigned cuts : 2, kills : 2, old : 2, tool : 1;
unsigned second : 4;          /* The set of writes to S that have content 2. */
unsigned alone : 3;           /* 0: before the end. 1 to 3: there are no more faults, and process 0 sweeps, sweeps again, and gets.
                                 4: after the end. */
/* More ghosts. Only assertions read them. */
unsigned changes : 4;         /* The number of sets and removes so far. */
unsigned acked : 4;           /* The newest change that was acknowledged. */
unsigned safe : 4;            /* The set of safe writes to S, which S may lose. D on disk had or replaced such a write, or had an equal
                                 value when the two were compared, or the write is in quarantine. */
bit waiting;                  /* S had write 1 at first. Since then there was no set, no remove, and no deletion by the old application. */
bit moved;                    /* D was changed in the last sweep. */
unsigned fault : 3;           /* No ghost: the fault that the call of the current step meets. It is 0 between two steps. */

/* The process that executes the step. Its number is `me`. */
#define my P[me]
#define nothingThere (D.kind != VALUE && !isValue(S))

inline note() {               /* Runs after each change that processes can see. Sets `gap` of each get if neither D nor S has a value. */
    if
    :: nothingThere ->
        if :: P[0].op == GET -> P[0].gap = 1 :: else fi;
        if :: P[1].op == GET -> P[1].gap = 1 :: else fi
    :: else
    fi
}
/* The last probe of D by process p is out of date. */
inline outdate(p) { if :: P[p].at != IDLE -> P[p].stale = 1 :: else fi }
inline changed() {            /* D has a new revision. */
    dirty = 1;
    if :: alone -> moved = 1 :: else fi;
    outdate(1 - me);
    note()
}
inline copyTo(to, from) { to.kind = from.kind; to.val = from.val; to.copy = from.copy; to.gone = from.gone; to.ver = from.ver }
inline persist() {            /* D is written to disk. */
    copyTo(onDisk, D); onDisk.past = D.past; dirty = 0;
    safe = safe | D.past;
    assert(onDisk.ver >= acked)                       /* I1: only a newer change replaces an acknowledged one. */
}
inline drop(p) {              /* Clears the last probe of D when process p does not need it any more. */
    P[p].kind = 0; P[p].val = 0; P[p].copy = 0; P[p].gone = 0; P[p].stale = 0;
    if :: P[p].op != REMOVE -> P[p].ver = 0 :: else fi
}
/* Ends the operation of process p. */
inline forget(p) { P[p].op = NONE; P[p].at = IDLE; drop(p); P[p].older = 0; P[p].under = 0; P[p].floor = 0; P[p].gap = 0 }
inline begin(p, what, where) {
    P[p].op = what; P[p].at = where;
    if :: what == GET -> P[p].floor = acked; P[p].gap = nothingThere :: else fi
}

/* `lookD` and `lookS` probe D and S. In two variants, a fault counts as absence. */
#define takenAsAbsent ((fault == LOCKED && is(LOCKED_AS_ABSENT)) || (fault == UNAVAILABLE && is(UNAVAILABLE_AS_ABSENT)))
inline lookD() {
    drop(me); my.ver = 0;
    if :: fault == 0 -> copyTo(my, D) :: takenAsAbsent -> my.kind = ABSENT :: else -> my.kind = fault fi
}
inline lookS() {
    if :: fault == 0 -> my.older = S :: takenAsAbsent -> my.older = NOTHING :: else -> my.older = UNREADABLE fi
}
/* Whether the origin of D names the state of S. `it` has the probes of both. A record of the library is named by its revision, and a bare
 * value by its content. */
#define named(it) (isValue(it.older) && !it.gone && (sameState(it.older, it.copy) || is(COPIES_BY_CONTENT) && sameContent(it.older, it.copy)))
/* Whether the value of S may replace D in a conflict. A bare value may only if it was certainly written after the change in D. */
#define mayWin(it) (POLICY == SOURCE_WINS && (!FOREIGN || ((it.kind != TOMBSTONE || is(FOREIGN_OVER_TOMBSTONE)) && (!named(it) || is(FOREIGN_COPY_WINS)))))

/* Probes S before a set or remove writes D. With SOURCE_WINS, the operation fails if S cannot be read. */
inline lookBeforeWriting() {
    lookS();
    my.under = (isValue(S) -> S : 0);
    if :: my.older == UNREADABLE && POLICY == SOURCE_WINS && !is(SOURCE_UNSEEN) -> forget(me) :: else fi
}

inline answer() {             /* A get returns the result of its last probe of D. */
    assert(my.ver >= my.floor);                       /* I2, I3: the result is not older than `floor`. */
    assert(my.kind != ABSENT || my.gap);              /* I4: nil without a tombstone is proven absence. */
    assert(alone != 3 || !waiting || my.kind == VALUE);   /* I1: if `waiting`, the last get returns a value. */
    forget(me)
}
inline acknowledge() {        /* Acknowledges a set or a remove, even if residue is left: the outcome is `applied`. */
    if :: my.ver > acked -> acked = my.ver :: else fi;
    assert(onDisk.ver >= acked);                      /* I1: the change, or a newer one, is on disk. */
    forget(me)
}
inline done() {               /* The work in the key lane is done. */
    if
    :: my.op == GET -> drop(me); my.older = 0; my.at = LOOK
    :: my.op == REMOVE -> acknowledge()
    :: else -> forget(me)
    fi
}
inline again(where) {         /* D has changed since it was read, so the process returns to an earlier step. */
    assert(!alone);                                   /* Liveness: at the end, no other process can change D. */
    my.at = where
}

/* Prints a step for `spin -t`: the state before the step, the process, its operation and its step. A record is printed as
 * kind.content.origin#change. */
inline tell() {
    printf("D %d.%d.%d#%d  on disk %d.%d.%d#%d  S %d.%d  on disk %d  acknowledged %d  | ", D.kind, D.val, D.copy, D.ver,
        onDisk.kind, onDisk.val, onDisk.copy, onDisk.ver, S, (isValue(S) -> content(S) : 0), S_onDisk, acked)
}
inline tellStep() {
    tell(); printf("process %d: %e, %e", me, my.op, my.at);
    if :: fault == LOCKED -> printf(", locked\n") :: fault == UNAVAILABLE -> printf(", unavailable\n") :: else -> printf("\n") fi
}
#define tellEvent(what) tell(); printf(what); printf("\n")

/* STEP is one step. CALL is a step that calls a store, which may be locked or unavailable. BEGIN begins an operation. */
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

    /* ValueReader.readInPlace: a get probes D. */
    CALL(PLACE, lookD();
        if
        :: failed -> forget(me)
        :: my.kind == ABSENT || is(READ_DECIDES) && my.kind == VALUE -> my.at = SETTLE
        :: else -> answer()
        fi)
    /* Settler.settle: the state table of Docs/Design.md. */
    CALL(SETTLE, lookD();
        if
        :: failed -> forget(me)
        :: my.kind == ABSENT -> my.at = SOURCE
        :: my.kind != ABSENT && !failed && (my.op == SWEEP || is(READ_DECIDES)) -> my.at = NAMED
        :: else -> done()
        fi)
    /* Settler.migrateFromSources, Mover.attempt, SourceReader.read: D is absent, so S is read. */
    CALL(SOURCE, lookS();
        if
        :: my.older == UNREADABLE -> forget(me)
        :: my.older == REMOVED -> done()
        :: my.older == NOTHING && is(NO_SECOND_LOOK) && my.op == GET -> answer()
        :: my.older == NOTHING && !(is(NO_SECOND_LOOK) && my.op == GET) -> my.at = SECOND_S
        :: else -> my.at = PUT
        fi)
    /* Settler.isFilledMeanwhile re-reads S, and then Mover.emptiness re-reads D. A value moves from S to D, so this order finds a value
     * that moved during the first two probes. */
    CALL(SECOND_S, lookS();
        if :: my.older == UNREADABLE -> forget(me) :: isValue(my.older) -> my.at = SETTLE :: else -> my.at = SECOND_D fi)
    CALL(SECOND_D, lookD();
        if :: failed -> forget(me) :: my.kind == ABSENT -> done() :: else -> again(SETTLE) fi)

    /* Mover.move, DurableWriter.write: write the value of S to D. The precondition is the state of D that was read. Reconciler.replace does
     * the same if S wins a conflict. */
    STEP(PUT,
        if
        :: !my.stale || is(NO_PUT_PRECONDITION) ->
            assert(my.kind == ABSENT || my.op == SWEEP);   /* A get decides no conflict. */
            assert(my.kind == ABSENT || !(D.past & (1 << my.older)));   /* I2: a write to S that D's record replaced never replaces it. */
            assert(my.kind != TOMBSTONE || !FOREIGN);      /* I3: no bare value proves that it is newer than a tombstone. */
            D.past = (my.kind == ABSENT -> 0 : D.past) | (1 << my.older);
            D.ver = (my.kind == ABSENT -> 0 : D.ver);
            D.kind = VALUE; D.val = content(my.older); D.copy = my.older; D.gone = 0;
            changed(); drop(me);
            my.at = (is(DELETE_BEFORE_DURABLE) -> COLLECT : FLUSH)
        :: else -> again(SETTLE)
        fi)
    /* The commit of PUT returns when D is durable. */
    STEP(FLUSH, persist();
        if :: is(DELETE_BEFORE_DURABLE) -> done() :: else -> my.at = VERIFY fi)
    /* Committer.readBack: re-read D. A record that another process wrote since then is accepted too. */
    CALL(VERIFY, lookD();
        if :: failed || my.kind == ABSENT -> forget(me) :: else -> drop(me); my.at = COLLECT fi)
    /* ResiduePurger.purge: delete S. The precondition is the revision of S that was read. If S cannot be deleted, it stays as residue. */
    CALL(COLLECT,
        if
        :: fault == 0 && (sameState(S, my.older) || (isValue(S) && is(NO_DELETE_PRECONDITION))) ->
            assert(safe & (1 << S));                  /* I1, I6: only a safe write is deleted. */
            S = NOTHING; my.older = 0;
            note();
            my.at = FLUSH_S
        :: else -> done()
        fi)
    /* The commit of COLLECT returns when the empty S is durable. */
    STEP(FLUSH_S, S_onDisk = S;
        if
        :: is(DELETE_BEFORE_DURABLE) && my.op != REMOVE -> my.at = FLUSH
        :: else -> done()
        fi)
    /* ValueReader.readWritten: each caller that shared the migration re-reads D. */
    CALL(LOOK, lookD();
        if :: failed -> forget(me) :: else -> answer() fi)

    /* Reconciler.collectCopies: find a copy that D's origin names. A bare value with the same content may be a new write, so the next step
     * compares it. */
    CALL(NAMED, lookS();
        my.at = (named(my) && (!FOREIGN || is(FOREIGN_COPY_UNSEEN)) -> BARRIER : COMPARE))
    /* Reconciler.reconcile, for one step of a migration. S has a copy that the previous probe could not read, the same value as D, or a
     * conflicting value. In the model, this sweep deletes such a copy. The library leaves it to the next sweep. */
    CALL(COMPARE, lookS();
        if
        :: !isValue(my.older) -> done()
        :: isValue(my.older) && named(my) && !FOREIGN && !is(COPY_TAKEN_FOR_CONFLICT) -> my.at = BARRIER
        :: isWriteOf(my.older, my.val) && my.kind == VALUE && !(named(my) && !FOREIGN && !is(COPY_TAKEN_FOR_CONFLICT)) ->
            my.at = EQUAL
        :: else -> my.at = QUARANTINE
        fi)
    /* Reconciler.isUnchanged: re-read D after S was read. If D is unchanged, the write in S is equal to D. */
    CALL(EQUAL,
        if
        :: fault -> forget(me)
        :: !fault && my.stale && !is(EQUAL_NOT_READ_AGAIN) -> again(SETTLE)
        :: else ->
            if :: !my.stale -> my.under = my.older :: else fi;
            my.at = BARRIER
        fi)
    /* Reconciler.resolve: the loser of a conflict is durably in quarantine before it is deleted or replaced. */
    STEP(QUARANTINE,
        assert(my.op == SWEEP);                           /* A get decides no conflict. */
        if
        :: mayWin(my) -> my.at = PUT
        :: else ->
            if :: is(NO_QUARANTINE) -> skip :: else -> safe = safe | (1 << my.older) fi;
            my.at = BARRIER
        fi)
    /* ResiduePurger.settledDurability: make D durable, even if another process wrote it. Only then is S deleted, or a repeated remove
     * acknowledged. */
    STEP(BARRIER,
        if :: is(NO_BARRIER) -> skip :: else -> persist(); safe = safe | (1 << my.under) fi;
        drop(me); my.under = 0;
        if :: isValue(my.older) -> my.at = COLLECT :: else -> acknowledge() fi)

    /* ValueWriter.store and writeTombstone: probe D, and then read S with LegacyLocations.read. If S cannot be read, the operation fails
     * only with SOURCE_WINS. */
    CALL(WRITE_D, lookD();
        if :: failed -> forget(me) :: else -> my.at = WRITE_S fi)
    CALL(WRITE_S, lookBeforeWriting();
        if
        :: my.op == REMOVE && my.kind == TOMBSTONE && (!isValue(my.older) || named(my) && !FOREIGN) ->
            /* ValueWriter.writeTombstone: D already has a tombstone, and its origin names each value that was found in S. The process
             * that wrote the tombstone may have died before the flush. So BARRIER flushes D. */
            if :: !isValue(my.older) && is(REPEATED_REMOVE_UNFLUSHED) -> acknowledge() :: else -> my.at = BARRIER fi
        :: my.op == NONE -> skip
        :: else -> my.at = (FOREIGN && my.older == NOTHING && my.copy && !my.gone -> SYNC_S : WRITE)
        fi)
    /* Origins.isDurablyEmpty: S is empty, and D's origin names a bare value that S had. When the empty S is durable, the new origin records
     * this absence. A value that is found in S afterwards is a new write. */
    STEP(SYNC_S,
        if :: is(ABSENCE_RECORDED_EARLY) -> skip :: else -> S_onDisk = S fi;
        my.gone = 1; my.at = WRITE)
    /* Committer.commit, with the origin from Origins.carried: write D. The precondition is the revision of D that was read. */
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
    /* The commit of WRITE returns when D is durable. Then a remove deletes the value in S. */
    STEP(FLUSH_WRITE, persist();
        if :: my.op == REMOVE && isValue(my.older) -> my.at = BARRIER :: else -> acknowledge() fi)

    :: alone == 4 -> break
    od
}

/* The old application writes S without a precondition, and does not wait for the disk. With SOURCE_WINS, the model puts its writes on disk
 * at once. README.md lists this limit. */
#define newWrite (2 + OLD - old)
#define isAboutToDelete(c) (isWriteOf(P[0].older, c) || isWriteOf(P[1].older, c))
#define mayWrite(c) (old > 0 && !alone && (!FOREIGN || !isWriteOf(S, c) && (REWRITES || !isAboutToDelete(c))))
inline writeS() { S = newWrite; old--; if :: POLICY == SOURCE_WINS -> S_onDisk = S :: else fi }

/* The disk, the power, deaths of processes, the old application, the tool, and the end. */
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
        :: alone == 1 -> assert(!isValue(S)); begin(0, SWEEP, SETTLE); moved = 0    /* Liveness: one sweep leaves no value in S. */
        :: alone == 2 -> assert(!moved); begin(0, GET, PLACE)                        /* I5: the second sweep did not change D. */
        :: else
        fi;
        alone++ }
    :: alone == 4 -> break
    od
}
