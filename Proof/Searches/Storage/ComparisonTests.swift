import BackendContract
import BackendRuntime
import Foundation
import LocalData
import LocalDataBackup
import LocalDataCaches
import LocalDataObservation
import LocalDataQueries
import LocalDataTesting
import Synchronization
import TestSupport
import Testing

#if PostgreSQL && os(Linux)
    import LocalDataPostgreSQL
#endif

/// Runs random programs in every store and with every option that must not change an answer, and compares the answers with those of an
/// encrypted database in memory. A difference is printed with the smallest program that has it.
@Suite(.inTurn, .timeLimit(.minutes(20)), .tags(.keyring)) struct ComparisonTests {
    private static let done = Mutex(0)

    /// The program of a world: its keys, and what each step answers.
    private struct Session {
        let world: ComparisonWorld
        let routers: [StorageRouter]
        let texts: [StorageKey<String>]
        let number: StorageKey<Double>
        let list: StorageKey<[String: Int]>
        let flag: StorageKey<Bool?>
        let notes: StorageCollection<ComparisonProgram.Note>
        let caches: [StorageCache<ComparisonProgram.Note>]

        private struct Catalog: StorageKeyCatalog { let allKeys: [AnyStorageKey] }

        /// A date of expiry that has passed.
        private static let past = Date(timeIntervalSince1970: 1_000_000_000)

        /// The locations of an earlier release, from which the second text and the records move.
        static let olderText = StorageKey<String>(name: "older", domain: .userDefaults(suite: "older"))
        static let olderNotes = StorageCollection<ComparisonProgram.Note>("older notes", domain: .userDefaults(suite: "older"))

        init(_ world: ComparisonWorld, _ past: ComparisonProgram.Past?) throws {
            self.world = world
            routers = (0..<world.programs).map { _ in world.launch() }
            let (domain, security) = (world.domain, world.security)
            var moving = StorageKey<String>(name: "text 1", domain: domain, security: security)
            var notes = StorageCollection<ComparisonProgram.Note>("notes", domain: domain, security: security)
            if world.declaresAttribute { notes = notes.attribute("tag", \.tag).attribute("weight", \.weight) }
            if !world.indexesAttributes { notes = notes.withoutAttributeIndex() }
            if let past {
                switch past.policy {
                case .destinationWins: break
                case .sourceWins: (moving, notes) = (moving.resolvingConflicts(.sourceWins), notes.resolvingConflicts(.sourceWins))
                case .merge:
                    moving = moving.resolvingConflicts(.merge { "\($0 ?? "nil")|\($1)" })
                    notes = notes.resolvingConflicts(
                        .merge {
                            ComparisonProgram.Note(
                                id: $1.id, tag: $0?.tag ?? "", weight: $1.weight, text: "\($0?.text ?? "nil")|\($1.text)")
                        })
                }
                let options = MigrationOptions(keepsWeakerCopy: true)
                moving =
                    past.hasWindow
                    ? moving.moved(from: Self.olderText, keeping: .untilReleased, options: options) : moving.moved(from: Self.olderText)
                notes =
                    past.hasWindow
                    ? notes.moved(from: Self.olderNotes, keeping: .untilReleased, options: options) : notes.moved(from: Self.olderNotes)
            }
            texts = [StorageKey(name: "text 0", domain: domain, security: security), moving]
            self.notes = notes
            number = StorageKey(name: "number", domain: domain, security: security)
            list = StorageKey(name: "list", domain: domain, security: security)
            flag = StorageKey(name: "flag", domain: domain, security: security)
            let cached = StorageCollection<ComparisonProgram.Note>("cached", domain: .encryptedSQLite(database: "cached"))
            caches = try routers.map { try cached.cache(limit: .count(1_000), storage: $0) }
        }

        private var catalog: Catalog {
            Catalog(allKeys: texts.map { AnyStorageKey.key($0) } + [.key(number), .key(list), .key(flag), .collection(notes)])
        }

        func answer(_ step: ComparisonProgram.Step, number index: Int) async -> String {
            do { return try await made(step, routers[index % routers.count], index) } catch let error as StorageError {
                return "\(error.code) \(error.outcome)"
            } catch { return "\(error)" }
        }

        private func made(_ step: ComparisonProgram.Step, _ storage: StorageRouter, _ index: Int) async throws -> String {
            @Sendable func note(_ id: Int, _ tag: Int) -> ComparisonProgram.Note {
                ComparisonProgram.Note(
                    id: "n\(id)", tag: ComparisonProgram.tags[tag], weight: Double(index % 3) - 1,
                    text: ComparisonProgram.texts[index % ComparisonProgram.texts.count])
            }
            @Sendable func tag(_ number: Int) -> String { ComparisonProgram.tags[number] }
            if ComparisonProgram.isPlanted, world.memory == nil, index % 2 == 1, step.isSilent { return "done" }
            switch step {
            case .setText(let key, let text): try await storage.set(ComparisonProgram.texts[text], for: texts[key])
            case .setNumber(let value): try await storage.set(ComparisonProgram.numbers[value], for: number)
            case .setList(let value): try await storage.set(ComparisonProgram.lists[value], for: list)
            case .setFlag(let value): try await storage.set(value.map { $0 == 1 }, for: flag)
            case .read(let key): return try await read(key, storage)
            case .append(let key):
                return try await storage.update(texts[key]) { text in
                    text = (text ?? "none") + "+"
                    return (text ?? "").hashed
                }
            case .remove(let key):
                switch key {
                case 0, 1: try await storage.remove(texts[key])
                case 2: try await storage.remove(number)
                case 3: try await storage.remove(list)
                default: try await storage.remove(flag)
                }
            case .exists(let key):
                switch key {
                case 0, 1: return "\(try await storage.exists(texts[key]))"
                case 2: return "\(try await storage.exists(number))"
                case 3: return "\(try await storage.exists(list))"
                default: return "\(try await storage.exists(flag))"
                }
            case .store(let ids, let tag):
                let stored = Set(ids).sorted().map { note($0, tag) }
                // A keyring changes one record in a call.
                if world.domain == .keychain {
                    for note in stored { try await storage.set(note, in: notes) }
                } else {
                    try await storage.set(stored, in: notes)
                }
            case .retag(let id, let number):
                return try await storage.update("n\(id)", in: notes) { note in
                    note?.tag = tag(number)
                    return note == nil ? "none" : "changed"
                }
            case .readRecord(let id): return "\(try await storage.value("n\(id)", in: notes) as Any)".hashed
            case .removeRecord(let id): try await storage.remove("n\(id)", in: notes)
            case .list:
                var all: [ComparisonProgram.Note] = []
                for try await note in storage.records(in: notes) { all.append(note) }
                return shown(all)
            case .tagged(let number): return shown(try await storage.records(in: notes, where: \.tag == tag(number)))
            case .untagged(let number): return shown(try await storage.records(in: notes, where: \.tag != tag(number) && \.weight >= 0))
            case .count(let number): return "\(try await storage.count(in: notes, where: \.tag == tag(number)))"
            case .countAll: return "\(try await storage.count(in: notes))"
            case .ordered(let limit):
                let found = try await storage.records(in: notes, where: \.weight <= 0, orderedBy: .descending(\.weight), limit: limit)
                return "\(found.map(\.weight))"
            case .pages(let size, let number):
                var all: [ComparisonProgram.Note] = []
                var page = try await storage.page(in: notes, where: number.map { \.tag == tag($0) } ?? .all, size: size)
                all += page.records
                while let cursor = page.cursor {
                    page = try await storage.page(in: notes, where: number.map { \.tag == tag($0) } ?? .all, size: size, after: cursor)
                    all += page.records
                }
                return shown(all)
            case .removeTagged(let number): return "\(try await storage.removeAll(in: notes, where: \.tag == tag(number)))"
            case .clear: try await storage.clear(notes)
            case .batch(let text, let record, let tag):
                // A list has no batch over several keys.
                guard world.domain != .userDefaults, world.domain != .keychain else {
                    try await storage.set(ComparisonProgram.texts[text], for: texts[0])
                    try await storage.set(note(record, tag), in: notes)
                    try await storage.remove(number)
                    break
                }
                try await storage.batch { batch in
                    try batch.set(ComparisonProgram.texts[text], for: texts[0])
                    try batch.set(note(record, tag), in: notes)
                    batch.remove(number)
                }
            case .setExpired(let key): try await storage.set("expired", for: texts[key], expiresAt: Self.past)
            case .storeExpired(let id): try await storage.set(note(id, 0), in: notes, lifetime: .zero)
            case .olderSetExpired: try await storage.set("expired", for: Self.olderText, expiresAt: Self.past)
            case .olderStoreExpired(let id): try await storage.set(note(id, 0), in: Self.olderNotes, lifetime: .zero)
            case .sweep:
                let report = try await storage.registerCatalog(catalog, migrateImmediately: true)
                return report.isComplete ? "complete" : "\(report)"
            case .restart: break
            case .olderSet(let text): try await storage.set(ComparisonProgram.texts[text], for: Self.olderText)
            case .olderRemove: try await storage.remove(Self.olderText)
            case .olderRead: return (try await storage.value(for: Self.olderText) ?? "nil").hashed
            case .olderStore(let ids, let tag): try await storage.set(Set(ids).sorted().map { note($0, tag) }, in: Self.olderNotes)
            case .olderRemoveRecord(let id): try await storage.remove("n\(id)", in: Self.olderNotes)
            case .olderList:
                var all: [ComparisonProgram.Note] = []
                for try await note in storage.records(in: Self.olderNotes) { all.append(note) }
                return shown(all)
            case .cache(let id, let text):
                let value = ComparisonProgram.Note(id: "c\(id)", tag: "", weight: 0, text: ComparisonProgram.texts[text])
                return "\(try await caches[index % caches.count].set(value))"
            case .cached(let id): return (try await caches[index % caches.count].value("c\(id)")?.text ?? "nil").hashed
            case .uncache(let id): try await caches[index % caches.count].remove("c\(id)")
            case .operate(let operation):
                // A machine that is restored from a backup has no caches.
                if operation == .moveByBackup { try await caches[0].removeAll() }
                try await attempt(operation, storage)
            case .beside(let operation, let step):
                async let attempted: Void = attempt(operation, routers[(index + 1) % routers.count])
                let answer = await self.answer(step, number: index)
                try await attempted
                return answer
            case .followed(let steps): return try await following(steps, storage, index)
            case .forget:
                try await storage.registerCatalog(catalog)
                if world.memory == nil { return try await forgetting(storage) }
                for key in 0..<5 { _ = try await made(.remove(key), storage, index) }
                try await storage.clear(notes)
            }
            return "done"
        }

        private func forgetting(_ storage: StorageRouter) async throws -> String {
            try await storage.forget(world.domain)
            return "done"
        }

        /// Makes an operation in a world with files, unless its stores do not support it.
        private func attempt(_ operation: ComparisonProgram.Operation, _ storage: StorageRouter) async throws {
            guard world.memory == nil else { return }
            do { try await operate(operation, storage) } catch StorageError.unsupported {} catch StorageError.unavailable {
                // The program has not written to the database yet.
            } catch StorageError.encryptionKeyMissing {
                // The program has not sealed a value yet.
            }
        }

        /// The values that followers have delivered.
        private final class Followed: Sendable {
            let records = Mutex<[String: ComparisonProgram.Note]>([:])
            let text = Mutex<String?>(nil)
            let failure = Mutex<(any Error)?>(nil)

            func fail(_ error: any Error) { failure.withLock { $0 = $0 ?? error } }
        }

        /// Makes steps while two followers run, waits until both have what is stored, and returns the records.
        private func following(_ steps: [ComparisonProgram.Step], _ storage: StorageRouter, _ index: Int) async throws -> String {
            let (followed, notes, text) = (Followed(), notes, texts[1])
            // Older copies move now. Otherwise it depends on the speed of a store whether a follower or a step finds them first.
            _ = (try await made(.list, storage, index), try await storage.value(for: text))
            let followers = [
                Task {
                    do {
                        for try await change in storage.changes(in: notes) { followed.records.withLock { change.apply(to: &$0) } }
                    } catch { if !Task.isCancelled { followed.fail(error) } }
                },
                Task {
                    do { for try await value in storage.values(for: text) { followed.text.withLock { $0 = value } } } catch {
                        if !Task.isCancelled { followed.fail(error) }
                    }
                },
            ]
            defer { for follower in followers { follower.cancel() } }
            var answers: [String] = []
            for step in steps { answers.append(await answer(step, number: index)) }
            while true {
                if let failure = followed.failure.withLock(\.self) { throw failure }
                let (all, last) = (try await made(.list, storage, index), try await storage.value(for: text))
                if shown(followed.records.withLock { Array($0.values) }) == all, last == followed.text.withLock(\.self) {
                    return "\(answers + [all])"
                }
                try await Task.sleep(for: .milliseconds(2))
            }
        }

        private func shown(_ notes: [ComparisonProgram.Note]) -> String { "\(notes.map { "\($0)".hashed }.sorted())" }

        private func operate(_ operation: ComparisonProgram.Operation, _ storage: StorageRouter) async throws {
            switch operation {
            case .rotateDataKey: try await storage.rotateDataKey(of: world.domain)
            case .rotateKey:
                try await storage.registerCatalog(catalog)
                let report = try await storage.rotateKey()
                if report.remaining.isEmpty, routers.count == 1 { try await storage.deleteOlderKeys() }
            case .verify:
                guard let report = try await storage.verifyIntegrity(of: world.domain) else { break }
                if !report.isSound { throw StorageError(StorageError.corrupted, key: "verify", "\(report)") }
            case .lock:
                try await storage.lock(world.domain)
                try await storage.unlock(world.domain)
            case .forgetAnother:
                let another = StorageDomain.encryptedSQLite(database: "another")
                try await storage.set("short-lived", for: StorageKey<String>(name: "text 0", domain: another))
                try await storage.forget(another)
            case .look:
                _ = try await storage.audit()
                _ = await storage.planSweep()
            case .backup:
                guard let file = world.otherRoot?().appendingPathExtension("backup") else { break }
                let key = BackupKey.recoveryKey(try RecoveryKey(text: ComparisonTests.recoveryKey))
                let report = try await storage.backup(to: file, openedBy: [key])
                if !report.isSound { throw StorageError(StorageError.corrupted, key: "backup", "\(report)") }
            case .moveByBackup: break
            }
        }

        private func read(_ key: Int, _ storage: StorageRouter) async throws -> String {
            switch key {
            case 0, 1: (try await storage.value(for: texts[key]) ?? "nil").hashed
            case 2: "\(try await storage.value(for: number) as Any) \(try await storage.value(for: number)?.sign as Any)"
            case 3: "\(try await storage.value(for: list)?.map { "\($0.key.utf8.map(\.self))=\($0.value)" }.sorted() as Any)"
            default: "\(try await storage.value(for: flag) as Any)"
            }
        }
    }

    /// Returns the answers of a program in a world, with those of a last reading of everything.
    private func answers(_ program: ComparisonProgram, _ make: () async throws -> ComparisonWorld) async throws -> [String] {
        var world = try await make()
        if program.past != nil {
            let older = world.launch()
            try await older.set("from an earlier release", for: Session.olderText)
            let note = ComparisonProgram.Note(id: "n0", tag: "home", weight: 1, text: "from an earlier release")
            try await older.set([note], in: Session.olderNotes)
            try await older.shutdown()
        }
        var session = try Session(world, program.past)
        var answers: [String] = []
        let last: [ComparisonProgram.Step] =
            [.restart, .sweep, .list, .countAll, .olderRead, .olderList] + (0..<5).map { .read($0) } + (0..<6).map { .count($0) }
        for (index, step) in (program.steps + last).enumerated() {
            switch step {
            case .restart:
                for router in session.routers { try await router.shutdown() }
                session = try Session(world, program.past)
            case .operate(.moveByBackup) where world.otherRoot != nil:
                try await moveByBackup(session, &world)
                session = try Session(world, program.past)
            default: break
            }
            answers.append(await session.answer(step, number: index))
        }
        for router in session.routers { try await router.shutdown() }
        return answers
    }

    fileprivate static let recoveryKey = "0410-6105-0R3G-G28A-1C60-T3GF-208H-44RM-2MB1-E60S-38DH-R78Y-3WG0-Z1WJ"

    /// Ends the programs of a session, and restores a backup of its stores on another machine.
    private func moveByBackup(_ session: Session, _ world: inout ComparisonWorld) async throws {
        guard let root = world.otherRoot?() else { return }
        let (file, key) = (root.appendingPathExtension("backup"), BackupKey.recoveryKey(try RecoveryKey(text: Self.recoveryKey)))
        let report = try await session.routers[0].backup(to: file, openedBy: [key])
        #expect(report.isSound)
        for router in session.routers { try await router.shutdown() }
        let old = world.configuration
        world.configuration = StorageConfiguration(root: root, applicationID: old.applicationID)
        world.configuration.deadlines = old.deadlines
        world.configuration.runtime = old.runtime
        world.configuration.pageSize = old.pageSize
        try await StorageRouter.restore(from: file, with: key, into: world.configuration)
    }

    /// Returns the first answer in which a world differs from the reference; nil if there is none.
    private func difference(
        _ program: ComparisonProgram, _ make: () async throws -> ComparisonWorld
    ) async throws -> String? {
        let expected = try await answers(program, { Worlds.reference() })
        let found = try await answers(program, make)
        guard let index = expected.indices.first(where: { expected[$0] != found[$0] }) else { return nil }
        let step = index < program.steps.count ? "\(program.steps[index])" : "the last reading"
        return "step \(index), \(step): \(found[index]) instead of \(expected[index])"
    }

    @Test(arguments: Worlds.all)
    func `a program gets the same answers in every store and with every option`(_ kind: Worlds.Kind) async throws {
        let (first, count) = (ComparisonProgram.first, ComparisonProgram.count)
        let worlds = try Worlds(kind)
        for seed in first..<first + count {
            var program = ComparisonProgram(seed: seed)
            if kind == .keyring { program.leaveOutOlderRecords() }
            guard var text = try await difference(program, worlds.make) else { continue }
            // Leave out steps as long as the answers differ.
            search: while !ComparisonProgram.isPlanted {
                for shorter in program.shorter {
                    guard let found = try await difference(shorter, worlds.make) else { continue }
                    (program, text) = (shorter, found)
                    continue search
                }
                break
            }
            Issue.record("seed \(seed), \(kind): \(text)\n\(program)")
            return
        }
        let done = Self.done.withLock { done in
            done += 1
            return done
        }
        if done == Worlds.all.count { print("tried: \(count) programs in \(done) worlds") }
    }
}

extension String {
    /// The bytes of a text, shortened, so that texts that differ in their bytes differ here.
    fileprivate var hashed: String {
        let hash = utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return
            "\(unicodeScalars.prefix(40).map { $0.isASCII && $0.value >= 32 ? String($0) : "\\u{\(String($0.value, radix: 16))}" }.joined())#\(hash % 100_000)"
    }
}

/// Makes the worlds of a kind, each with empty stores.
struct Worlds {
    enum Kind: CaseIterable, Sendable {
        case list, sealedList, keyring, database, smallPages, withoutAttributes, withoutIndex, twoPrograms, server
    }

    static var all: [Kind] {
        var kinds: [Kind] = [.list, .sealedList]
        #if SQLite
            kinds += [.database, .smallPages, .withoutAttributes, .withoutIndex, .twoPrograms]
        #endif
        #if Keyring && os(Linux)
            kinds.append(.keyring)
        #endif
        #if PostgreSQL && os(Linux)
            kinds.append(.server)
        #endif
        return kinds
    }

    let kind: Kind
    private let folder: TemporaryDirectory

    init(_ kind: Kind) throws {
        self.kind = kind
        folder = try TemporaryDirectory()
    }

    /// The world with which all others are compared.
    static func reference() -> ComparisonWorld {
        let machine = TestMachine()
        return ComparisonWorld(memory: { machine.launch() })
    }

    func make() async throws -> ComparisonWorld {
        let id = UUID().uuidString
        var configuration = StorageConfiguration(root: URL(filePath: folder.file(id)), applicationID: "test.\(id)")
        configuration.deadlines = Deadlines(files: .seconds(600), keychain: .seconds(600))
        configuration.runtime.isPatient = true
        #if Keyring && os(Linux)
            if kind == .keyring {
                let keyrings = try PrivateKeyring.shared().keyringsDirectory
                configuration.runtime.host.environment["XDG_DATA_HOME"] = URL(filePath: keyrings).deletingLastPathComponent().path
            }
        #endif
        #if PostgreSQL && os(Linux)
            if kind == .server {
                configuration.keySource = .keyFile(folder.file("\(id)-key"))
                let schema = "comparison_\(UInt32.random(in: .min ... .max))"
                configuration.usePostgreSQL(
                    PostgreSQLServer(try await PrivatePostgreSQL.shared().conninfo, schema: schema, deadline: .seconds(300)))
            }
        #endif
        if kind == .smallPages { configuration.pageSize = 1 }
        var world = ComparisonWorld(configuration: configuration)
        if ![.keyring, .server].contains(kind) {
            world.otherRoot = { [folder] in URL(filePath: folder.file(UUID().uuidString)) }
        }
        switch kind {
        case .list: world.domain = .userDefaults
        case .sealedList: (world.domain, world.security) = (.userDefaults, .encrypted)
        case .keyring: world.domain = .keychain
        case .server: world.domain = .postgreSQL(database: "main")
        case .withoutAttributes: world.declaresAttribute = false
        case .withoutIndex: world.indexesAttributes = false
        case .twoPrograms: world.programs = 2
        case .database, .smallPages: break
        }
        return world
    }
}
