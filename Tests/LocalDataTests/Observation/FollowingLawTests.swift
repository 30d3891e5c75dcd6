import LocalDataObservation
import LocalDataTesting
import Synchronization
import TestSupport
import Testing

@testable import LocalData

/// The law of following: applying all changes of a sequence gives the records of the collection, with any changes, locks and moves in
/// between.
@Suite(.inTurn) struct FollowingLawTests {
    /// A step of a random run.
    private enum Operation: Sendable {
        case set(Int, isOwn: Bool)
        case setMany(isOwn: Bool)
        case batch(Int, Int, isOwn: Bool)
        case remove(Int, isOwn: Bool)
        case setOlder(Int)
        case hold, release, lock, unlock, sweep, rescan

        static let any: Arbitrary<Operation> = {
            let id = Arbitrary<Int>.number(in: 0...5)
            let isOwn = Arbitrary<Bool>.flag
            return .any(of: [
                zip(id, isOwn).map { .set($0, isOwn: $1) }, zip(id, isOwn).map { .set($0, isOwn: $1) },
                zip(id, isOwn).map { .remove($0, isOwn: $1) }, zip(id, id, isOwn).map { .batch($0, $1, isOwn: $2) },
                isOwn.map { .setMany(isOwn: $0) }, id.map { .setOlder($0) },
                .one(of: [.hold, .release, .lock, .unlock, .sweep, .rescan]),
            ])
        }()
    }

    @Test(.timeLimit(.minutes(10)), arguments: [false, true])
    func `the changes of a sequence give the records of the collection`(isInWindow: Bool) async {
        await forAll(Operation.any.list(0...40), count: 20) { operations in try await follow(operations, isInWindow: isInWindow) }
    }

    private func follow(_ operations: [Operation], isInWindow: Bool) async throws {
        let machine = TestMachine()
        let (own, other, older) = (machine.launch(), machine.launch(), machine.launch())
        let old = Note.collection("old", .userDefaults(suite: "old"))
        let bare = Note.collection(.userDefaults(suite: "main"))
        let notes =
            isInWindow
            ? bare.moved(from: old, keeping: .untilReleased, options: MigrationOptions(keepsWeakerCopy: true)) : bare.moved(from: old)
        try await own.registerCatalog(TestCatalog(.collection(notes)))
        let pace = Pace()
        let goal = Shared<[String: Note]?>(nil)
        let reader = Task {
            var replay = Replay<Note>()
            for try await change in own.changes(in: notes) {
                await pace.pass()
                replay.apply(change)
                if let goal = goal.value.withLock(\.self), goal == replay.records { break }
            }
            return replay
        }
        for (number, operation) in operations.enumerated() {
            do {
                try await perform(operation, number, own, other, older, notes, old, pace)
            } catch is StorageError {
                // The router is locked, or both versions of the program change the record.
            }
        }
        pace.release()
        try await own.unlock()
        var expected: [String: Note] = [:]
        for try await note in own.records(in: notes) { expected[note.id] = note }
        let end = Note(id: "end", text: "end")
        expected["end"] = end
        goal.value.withLock { [expected] in $0 = expected }
        try await own.set(end, in: notes)
        let replay = try await reader.value
        try same(replay.breaks, [], "contradictions")
        try same(replay.records, expected, "the records")
    }

    private func perform(
        _ operation: Operation, _ number: Int, _ own: StorageRouter, _ other: StorageRouter, _ older: StorageRouter,
        _ notes: StorageCollection<Note>, _ old: StorageCollection<Note>, _ pace: Pace
    ) async throws {
        func note(_ id: Int) -> Note { Note(id: "n\(id)", text: "\(number)") }
        switch operation {
        case .set(let id, let isOwn): try await (isOwn ? own : other).set(note(id), in: notes)
        case .remove(let id, let isOwn): try await (isOwn ? own : other).remove("n\(id)", in: notes)
        case .setMany(let isOwn): try await (isOwn ? own : other).set((0..<80).map(note), in: notes)
        case .batch(let set, let removed, let isOwn):
            let value = note(set)
            try await (isOwn ? own : other).batch { batch in
                batch.remove("n\(removed)", in: notes)
                try batch.set(value, in: notes)
            }
        case .setOlder(let id): try await older.set(note(id), in: old)
        case .hold: pace.hold()
        case .release: pace.release()
        case .lock:
            // A change that waits for the reader ends before the lock.
            try await own.lock()
        case .unlock: try await own.unlock()
        case .sweep: _ = await own.sweep()
        case .rescan: own.slots.committer.hub.lookAgain(nil)
        }
    }
}
