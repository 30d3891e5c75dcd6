#if SQLite
    import BackendContract

    /// The statements on the table of chunks of one connection, prepared once.
    final class ChunkStatements {
        private let insert: Statement
        private let read: Statement
        private let next: Statement
        private let delete: Statement

        init(_ database: Connection) throws(SQLiteFault) {
            insert = try database.keptStatement("INSERT INTO chunks VALUES (?1, ?2)")
            read = try database.keptStatement("SELECT sealed FROM chunks WHERE id = ?1")
            next = try database.keptStatement("SELECT id FROM chunks WHERE id >= ?1 ORDER BY id LIMIT 1")
            delete = try database.keptStatement("DELETE FROM chunks WHERE id >= ?1 AND id < ?2")
        }

        func insert(_ sealed: [UInt8], at place: Int64) throws(SQLiteFault) {
            defer { insert.clearBindings() }
            try insert.bind(place, at: 1)
            try insert.bind(sealed, at: 2)
            try insert.run()
        }

        /// The sealed bytes at a place; nil where there are none.
        func chunk(at place: Int64) throws(SQLiteFault) -> [UInt8]? {
            defer { read.reset() }
            try read.bind(place, at: 1)
            return try read.step() && read.kind(0) == .blob ? read.bytes(0) : nil
        }

        /// The first place from one on where there is a chunk.
        func place(from first: Int64) throws(SQLiteFault) -> Int64? {
            defer { next.reset() }
            try next.bind(first, at: 1)
            return try next.step() ? next.integer(0) : nil
        }

        func delete(_ places: Range<Int64>) throws(SQLiteFault) {
            try delete.bind(places.lowerBound, at: 1)
            try delete.bind(places.upperBound, at: 2)
            try delete.run()
        }
    }
#endif
