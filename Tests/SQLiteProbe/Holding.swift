#if SQLite
    import BackendRuntime
    import Foundation
    import GRDB

    /// Programs that sit on something until standard input gives a line.
    extension ProbeCommand {
        /// A write transaction of somebody who knows nothing of the store's lock.
        static let holdTransaction: Run = { place, _ in
            try hold(place, begin: "BEGIN IMMEDIATE")
        }

        /// A reader of the state that stands now.
        static let holdReader: Run = { place, _ in
            try hold(place, begin: "BEGIN")
        }

        private static func hold(_ place: ProbePlace, begin: String) throws {
            var configuration = Configuration()
            configuration.prepareDatabase { try $0.execute(sql: "PRAGMA wal_autocheckpoint = 0") }
            let queue = try DatabaseQueue(path: place.path, configuration: configuration)
            try queue.writeWithoutTransaction { database in
                try database.execute(sql: begin)
                let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM records") ?? -1
                say("holding \(count)")
                _ = listen()
                let again = try Int.fetchOne(database, sql: "SELECT count(*) FROM records") ?? -1
                try database.execute(sql: "ROLLBACK")
                say("released \(again)")
            }
            // The connection stays as it is: the last one to close would write the log back.
            _ = listen()
        }

        /// The store's lock.
        static let holdLock: Run = { place, _ in
            let files = PosixFileSystem()
            try files.createDirectory(parentDirectory(of: place.lockPath))
            let lock = try files.lock(place.lockPath) { true }
            say("holding lock")
            _ = listen()
            lock.release()
            say("released lock")
        }
    }
#endif
