import BackendContract
import Crypto
import TestSupport
import Testing

@testable import Sealing

/// Property-based tests of sealing. Sealed content opens only unchanged, under its key and in its context.
/// A keyset is the set of data keys of a database. A recipient is a key that opens the database.
/// Each data key is wrapped once for each recipient.
/// The header of a database has named entries, and a tag that authenticates them.
@Suite(.inTurn, .tags(.campaign)) struct SealingLawTests {
    private let contents = Arbitrary<[UInt8]>.bytes()
    private let keys = Arbitrary<[UInt8]>.bytes(32...32).map { SealingKey(key: SymmetricKey(data: $0)) }
    private let names = Arbitrary<String>.text(.letter, 0...4)
    private var contexts: Arbitrary<(Envelope.Purpose, [String])> { zip(.one(of: Envelope.Purpose.allCases), names.list(3...6)) }

    /// Makes a context from a purpose, the three names of a store, and further names.
    private static func context(_ purpose: Envelope.Purpose, _ names: [String]) -> Envelope.Context {
        var context = Envelope.Context(purpose, in: StoreContext(application: names[0], kind: names[1], scope: names[2]))
        for name in names[3...] { context.add(name) }
        return context
    }
    private let seeds = Arbitrary<UInt64>.number

    private static func random(_ seed: UInt64) -> (Int) -> [UInt8] {
        var generator = SeededGenerator(seed)
        return { count in (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) } }
    }

    private func opens(_ sealed: [UInt8], _ key: SealingKey, _ context: Envelope.Context) -> [UInt8]? {
        try? Envelope.open(sealed, with: key, for: context)
    }

    @Test func `sealed content opens only under its key and in its context, and is unchanged`() async {
        await forAll(zip(contents, zip(keys, keys), zip(contexts, contexts), seeds), count: 300) { content, keys, contexts, seed in
            let context = Self.context(contexts.0.0, contexts.0.1)
            let sealed = try Envelope.seal(content, with: keys.0, for: context, Self.random(seed))
            try same(sealed.count, content.count + Envelope.overhead, "the length")
            try same(Envelope.keyID(of: sealed), keys.0.id, "the key's id")
            try same(opens(sealed, keys.0, context), content, "the content")
            let isSameContext = contexts.0 == contexts.1
            let elsewhere = opens(sealed, keys.0, Self.context(contexts.1.0, contexts.1.1))
            try same(elsewhere, isSameContext ? content : nil, "in another context")
            if keys.0.key != keys.1.key {
                try same(opens(sealed, keys.1, context), nil, "under another key")
                try same(
                    opens(sealed, SealingKey(collidingWith: keys.0.id, key: keys.1.key), context) == nil, keys.0.key != keys.1.key,
                    "under another key of that name")
            }
        }
    }

    @Test func `a sealed value with a changed, missing or extra byte does not open`() async {
        await forAll(zip(contents.limited(to: 16), keys, Arbitrary<UInt8>.number(in: 1...255), seeds), count: 25) {
            content, key, change, seed in
            let context = Self.context(.value, ["application", "kind", "scope", "name"])
            let sealed = try Envelope.seal(content, with: key, for: context, Self.random(seed))
            for index in sealed.indices {
                var changed = sealed
                changed[index] ^= change
                try hold(opens(changed, key, context) == nil, "byte \(index) changed by \(change) goes unnoticed")
                try hold(opens(Array(sealed[..<index]), key, context) == nil, "the first \(index) bytes open")
            }
            try hold(opens(sealed + [change], key, context) == nil, "a byte too many goes unnoticed")
        }
    }

    @Test func `two contexts, or two lists of fields, have the same bytes only if they are equal`() async {
        // Few short texts, because an encoding without lengths would often confuse them.
        let names = Arbitrary<String>.text(.one(of: ["a", "\u{0}"]), 0...2)
        let lists = zip(names, names.list(3...6))
        await forAll(zip(lists, lists), count: 1_500) { left, right in
            let fields = [left, right].map { list in
                var fields = Fields(list.0)
                for name in list.1 { fields.add(name) }
                return fields.bytes
            }
            try same(fields[0] == fields[1], left == right, "whether the fields are the same")
        }
        let purposed = zip(Arbitrary<Envelope.Purpose>.one(of: Envelope.Purpose.allCases), names.list(3...6))
        await forAll(zip(purposed, purposed), count: 1_500) { left, right in
            let contexts = [left, right].map { Self.context($0.0, $0.1).bytes }
            try same(contexts[0] == contexts[1], left == right, "whether the contexts are the same")
        }
    }

    @Test func `the text of a key is read as that key, and a changed character never gives another key`() async {
        await forAll(zip(keys, Arbitrary<UInt8>.number(in: 1...127)), count: 40) { key, change in
            let read = try SealingKey(text: key.text + "\n")
            try same(read.id, key.id, "the id")
            try hold(read.key == key.key, "the key differs")
            let text = Array(key.text.utf8)
            for index in text.indices {
                var changed = text
                changed[index] ^= change
                guard let other = try? SealingKey(textBytes: changed[...]) else { continue }
                // Capital hexadecimal digits are accepted too. A space may be any other white space.
                try hold(other.id == key.id && other.key == key.key, "character \(index) makes another key")
            }
        }
    }

    // MARK: Keysets

    @Test func `a keyset opens only under its key, for its database and unchanged`() async {
        let databases = Arbitrary<[UInt8]>.bytes(16...16)
        await forAll(zip(zip(keys, keys), zip(databases, databases), Arbitrary<UInt8>.number(in: 1...255), seeds), count: 20) {
            keys, databases, change, seed in
            let random = Self.random(seed)
            let (keyset, tables) = try Keyset.make(database: databases.0, formats: [1], kek: keys.0, source: "here", randomBytes: random)
            func opens(_ tables: KeyTables, _ database: [UInt8], _ key: SealingKey) -> Bool {
                (try? Keyset.open(tables, database: database, formats: [1], kek: key)) != nil
            }
            let opened = try Keyset.open(tables, database: databases.0, formats: [1], kek: keys.0)
            let address = StorageAddress("name")
            try same(opened.active.id, keyset.active.id, "the id")
            try same(opened.active.slot(of: address, table: "records"), keyset.active.slot(of: address, table: "records"), "the slot")
            try hold(databases.0 == databases.1 || !opens(tables, databases.1, keys.0), "it opens for another database")
            try hold(keys.0.key == keys.1.key || !opens(tables, databases.0, keys.1), "it opens under another key")
            let impostor = SealingKey(collidingWith: keys.0.id, key: keys.1.key)
            try hold(keys.0.key == keys.1.key || !opens(tables, databases.0, impostor), "it opens under another key of that id")
            let parts: [WritableKeyPath<KeyTables.Wrap, [UInt8]>] = [\.key, \.recipient, \.verifier, \.wrapped]
            for part in parts {
                for index in tables.wraps[0][keyPath: part].indices {
                    var wrap = tables.wraps[0]
                    wrap[keyPath: part][index] ^= change
                    // Both tables refer to the data key by its id. A changed id is therefore changed in both,
                    // so that only the keyset itself can detect the change.
                    let row = KeyTables.Key(id: wrap.key, state: .active)
                    let changed = try KeyTables(keys: [row], wraps: [wrap])
                    try hold(!opens(changed, databases.0, keys.0), "byte \(index) of \(part)")
                    try hold(
                        !keyset.isTag(keyset.tag(header: [], tables: tables), header: [], tables: changed), "the tag does not cover \(part)"
                    )
                }
            }
            var moved = tables.wraps[0]
            moved.source = "there"
            try hold(!opens(try KeyTables(keys: tables.keys, wraps: [moved]), databases.0, keys.0), "another source")
        }
    }

    @Test func `a keyset opens for each of its recipients, and a keyset without one of its wrapped keys is damaged`() throws {
        let random = Self.random(7)
        let database = random(16)
        let recipients = [SealingKey.random(random), SealingKey.random(random)]
        let data = [SymmetricKey.random(random), SymmetricKey.random(random)]
        let wraps = try recipients.enumerated().flatMap { number, recipient in
            try data.map { try KeyEncryptionKey(recipient, database: database).wrap($0, source: "source \(number)", random) }
        }
        let gone = KeyTables.Key(id: random(8), state: .destroyed)
        let keys = [KeyTables.Key(id: wraps[0].key, state: .active), KeyTables.Key(id: wraps[1].key, state: .decryptOnly), gone]
        let tables = try KeyTables(keys: keys, wraps: wraps)
        #expect(Set(tables.recipients.map(\.source)) == ["source 0", "source 1"])
        let opened = try recipients.map { try Keyset.open(tables, database: database, formats: [1], kek: $0) }
        for keyset in opened {
            #expect(keyset.active.id == wraps[0].key && keyset.decryptOnly.map(\.id) == [wraps[1].key] && keyset.destroyed == [gone.id])
        }
        for left in wraps.indices {
            var fewer = wraps
            fewer.remove(at: left)
            #expect(throws: BackendError.self) { try KeyTables(keys: keys, wraps: fewer) }
        }
        #expect(throws: BackendError.self) { try KeyTables(keys: keys, wraps: []) }
        #expect(throws: BackendError.self) { try KeyTables(keys: keys + [keys[0]], wraps: wraps) }
        #expect(throws: BackendError.self) { try KeyTables(keys: [keys[1], gone], wraps: wraps.filter { $0.key == keys[1].id }) }
        #expect(throws: BackendError.self) { try KeyTables(keys: [keys[0], keys[1]], wraps: wraps + [wraps[0]]) }
    }

    @Test func `the tag of a header is valid only for the same entries, but in any order`() async {
        let texts = Arbitrary<String>.text(.one(of: ["a", "b"]), 0...2)
        let values = Arbitrary<[UInt8]>.bytes(0...2)
        let headers = zip(texts, values).list(0...3).map { Dictionary($0, uniquingKeysWith: { first, _ in first }) }
        await forAll(zip(headers, headers, keys), count: 300) { left, right, key in
            let (keyset, tables) = try Keyset.make(
                database: [UInt8](repeating: 1, count: 16), formats: [1], kek: key, source: "here", randomBytes: Self.random(1))
            let tag = keyset.tag(header: left.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, tables: tables)
            let other = right.sorted { $0.key > $1.key }.map { (name: $0.key, value: $0.value) }
            try same(keyset.isTag(tag, header: other, tables: tables), left == right, "whether it is the tag")
        }
    }
}
