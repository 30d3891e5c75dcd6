import Foundation

/// The way in which a table stores the slot of a row: the keyed hash of 16 bytes by which the row is found.
enum Layout: String, CaseIterable {
    /// Layout A: the slot is the primary key of a table without a rowid.
    case a = "A"
    /// Layout B: SQLite numbers the rows, and a unique index contains the slots.
    case b = "B"
    /// Layout C: the id of a row is the first 62 bits of its slot, or the next free id above it.
    case c = "C"

    var title: String {
        switch self {
        case .a: "A `WITHOUT ROWID`"
        case .b: "B rowid and index"
        case .c: "C id from the slot"
        }
    }

    fileprivate var schema: String {
        switch self {
        case .a: "CREATE TABLE records (slot BLOB PRIMARY KEY NOT NULL, version INTEGER NOT NULL, sealed BLOB NOT NULL) WITHOUT ROWID"
        case .b: "CREATE TABLE records (id INTEGER PRIMARY KEY, slot BLOB NOT NULL UNIQUE, version INTEGER NOT NULL, sealed BLOB NOT NULL)"
        case .c: "CREATE TABLE records (id INTEGER PRIMARY KEY, slot BLOB NOT NULL, version INTEGER NOT NULL, sealed BLOB NOT NULL)"
        }
    }

    /// The statement that finds a row: by its slot in layouts A and B, and by its id in layout C. In A and B, the first
    /// column of the result identifies the row for `update`. In C, the first column is the slot. The caller compares it
    /// with the wanted slot, because ids can collide.
    fileprivate var find: String {
        switch self {
        case .a: "SELECT slot, version, sealed FROM records WHERE slot = ?"
        case .b: "SELECT id, version, sealed FROM records WHERE slot = ?"
        case .c: "SELECT slot, version, sealed FROM records WHERE id = ?"
        }
    }

    fileprivate var update: String { "UPDATE records SET version = ?2, sealed = ?3 WHERE \(self == .a ? "slot" : "id") = ?1" }

    fileprivate var insert: String {
        self == .c
            ? "INSERT INTO records (slot, version, sealed, id) VALUES (?, ?, ?, ?)"
            : "INSERT INTO records (slot, version, sealed) VALUES (?, ?, ?)"
    }
}

/// All records of one database, stored in one of the layouts. A put reads the row before it writes the row. LocalData
/// does so too, to check the precondition of a change.
final class Table {
    private let connection: Connection
    private let layout: Layout
    private let find, update, insert, begin, commit, all: Statement
    private let path: String
    private let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)

    init(_ layout: Layout, path: String) throws {
        self.path = path
        self.layout = layout
        connection = try Connection(path: path)
        try connection.run(layout.schema)
        find = try connection.prepare(layout.find)
        update = try connection.prepare(layout.update)
        insert = try connection.prepare(layout.insert)
        begin = try connection.prepare("BEGIN IMMEDIATE")
        commit = try connection.prepare("COMMIT")
        all = try connection.prepare("SELECT slot, version, sealed FROM records")
    }

    deinit { copy.deallocate() }

    /// Returns the version of a row, and copies the encrypted row into a buffer; nil if there is no such row.
    func get(_ slot: UnsafeRawBufferPointer) throws -> Int64? {
        defer { find.reset() }
        guard try seek(slot).found else { return nil }
        copy.copyMemory(from: find.blob(2))
        return find.integer(1)
    }

    /// Replaces or inserts a row. The caller has begun a transaction.
    func write(_ slot: UnsafeRawBufferPointer, version: Int64, sealed: UnsafeRawBufferPointer) throws {
        let place = try seek(slot)
        let id = layout == .b && place.found ? find.integer(0) : place.id
        find.reset()
        let statement = place.found ? update : insert
        if place.found, layout != .a { statement.bind(id, at: 1) } else { statement.bind(slot, at: 1) }
        statement.bind(version, at: 2)
        statement.bind(sealed, at: 3)
        if !place.found, layout == .c { statement.bind(id, at: 4) }
        try statement.run()
    }

    /// Runs a durable transaction.
    func transaction(_ body: () throws -> Void) throws {
        try begin.run()
        try body()
        try commit.run()
    }

    /// Calls a closure for every row, in the order of the table's primary key.
    func forEach(_ body: (_ slot: UnsafeRawBufferPointer, _ version: Int64, _ sealed: UnsafeRawBufferPointer) -> Void) throws {
        defer { all.reset() }
        while try all.step() { body(all.blob(0), all.integer(1), all.blob(2)) }
    }

    /// Copies each row into a buffer, and returns the number of rows.
    func enumerate() throws -> Int {
        var count = 0
        try forEach { _, _, sealed in
            copy.copyMemory(from: sealed)
            count += 1
        }
        return count
    }

    func checkpoint() throws { try connection.checkpoint() }

    /// Moves the content of the write-ahead log into the database file, and returns the bytes of the file.
    func contents() throws -> Data {
        try connection.checkpoint(truncating: true)
        return try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
    }

    /// Steps the statement `find` to the row of a slot. If there is no such row, the returned `id` is the id that a new
    /// row gets in layout C.
    private func seek(_ slot: UnsafeRawBufferPointer) throws -> (found: Bool, id: Int64) {
        guard layout == .c else {
            find.bind(slot, at: 1)
            return (try find.step(), 0)
        }
        var id = Int64(UInt64(bigEndian: slot.loadUnaligned(as: UInt64.self)) >> 2)
        while true {
            find.bind(id, at: 1)
            guard try find.step() else { return (false, id) }
            if find.blob(0).elementsEqual(slot) { return (true, id) }
            find.reset()
            id += 1
        }
    }
}
