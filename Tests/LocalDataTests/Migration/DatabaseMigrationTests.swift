#if SQLite
    import BackendContract
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// Moves of a value from its source, the legacy location, to its destination. The source or the destination, or
    /// both, are in a real database.
    ///
    /// A sweep moves the values of all keys of a catalog. Quarantine is the store for displaced values.
    @Suite(.inTurn) struct DatabaseMigrationTests {
        /// The source and the destination of a move.
        enum Move: CaseIterable, CustomTestStringConvertible {
            case listToDatabase, sealedListToDatabase, databaseToOtherKey
            #if Keyring
                case databaseToKeyring, keyringToDatabase
            #endif

            var testDescription: String { "\(self)" }

            var needsKeyring: Bool {
                #if Keyring
                    self == .databaseToKeyring || self == .keyringToDatabase
                #else
                    false
                #endif
            }

            func source(_ stage: Stage) -> StorageKey<String> {
                switch self {
                case .listToDatabase: textKey("old", .userDefaults(suite: "legacy"), .none)
                case .sealedListToDatabase:
                    textKey("old", .userDefaults(suite: "legacy"), .encrypted(.keyFile(stage.directory.file("another-key"))))
                case .databaseToOtherKey: textKey("old", .encryptedSQLite(database: "first"))
                #if Keyring
                    case .databaseToKeyring: textKey("old", .encryptedSQLite(database: "first"))
                    case .keyringToDatabase: textKey("old", .keychain)
                #endif
                }
            }

            func destination(_ stage: Stage) -> StorageKey<String> {
                switch self {
                case .listToDatabase, .sealedListToDatabase: textKey("new", .encryptedSQLite(database: "first"))
                case .databaseToOtherKey: textKey("new", .encryptedSQLite(database: "second"))
                #if Keyring
                    case .databaseToKeyring: textKey("new", .keychain)
                    case .keyringToDatabase: textKey("new", .encryptedSQLite(database: "ringed"))
                #endif
                }
            }

            /// The protection levels of the source and the destination.
            var protection: (ProtectionLevel, ProtectionLevel) {
                switch self {
                case .listToDatabase: (.plain, .sealed)
                case .sealedListToDatabase, .databaseToOtherKey: (.sealed, .sealed)
                #if Keyring
                    case .databaseToKeyring: (.sealed, .keychain)
                    case .keyringToDatabase: (.keychain, .keychain)
                #endif
                }
            }
        }

        func stage(_ move: Move) throws -> Stage {
            #if Keyring
                try Stage(keyring: move.needsKeyring)
            #else
                try Stage()
            #endif
        }

        func launch(_ stage: Stage) -> StorageRouter {
            stage.launch {
                $0.databaseKeySources = ["second": .keyFile(stage.directory.file("second-key")), "ringed": .keychain]
            }
        }

        @Test(arguments: Move.allCases)
        func `a get moves the value to the destination and leaves no copy in the source`(move: Move) async throws {
            let stage = try stage(move)
            let router = launch(stage)
            let (source, destination) = (move.source(stage), move.destination(stage))
            let key = destination.moved(from: source, id: "to-the-new-place")
            let neighbours = [textKey("neighbour", source.domain, source.security), textKey("neighbour", destination.domain)]
            for neighbour in neighbours { try await router.set("stays", for: neighbour) }
            try await router.set("a value: \u{1F426} \"quoted\"", for: source)

            #expect(try await router.get(key) == "a value: \u{1F426} \"quoted\"")

            // A new router has nothing in memory and reads the files on disk.
            let next = launch(stage)
            #expect(try await next.get(destination) == "a value: \u{1F426} \"quoted\"")
            #expect(try await !next.exists(source))
            #expect(try await !next.names(of: source.domain).contains("old"))
            for neighbour in neighbours { #expect(try await next.get(neighbour) == "stays") }
            let again = try await next.row(of: key)
            #expect(again.state == .unchanged && again.residue.isEmpty, "\(again)")
            let audit = try await next.audit()
            let row = try #require(audit.rows.first)
            #expect(row.migration == "to-the-new-place")
            #expect(row.migrationLastWorked != nil)
            #expect(row.protection == move.protection.1)
            #expect(row.provenance.count == 1 && row.provenance.first?.name == "old", "\(row.provenance)")
            #expect(row.residue.isEmpty && audit.recordedResidue.isEmpty && audit.quarantine.isEmpty)
        }

        @Test(arguments: Move.allCases)
        func `a sweep moves the value and reports the source, and a second sweep changes nothing`(move: Move) async throws {
            let stage = try stage(move)
            let router = launch(stage)
            let source = move.source(stage)
            let key = move.destination(stage).moved(from: source)
            try await router.set("v", for: source)
            let row = try await router.row(of: key)
            #expect(row.state == .moved, "\(row)")
            #expect(row.from.first?.name == "old")
            #expect(row.protectionBefore == move.protection.0 && row.protection == move.protection.1)
            #expect(row.residue.isEmpty)
            #expect(try await router.row(of: key).state == .unchanged)
            #expect(try await launch(stage).get(move.destination(stage)) == "v")
            #expect(try await launch(stage).value(for: source) == nil)
        }

        @Test(arguments: Move.allCases)
        func `after a removal, a value that an old program writes to the legacy location is quarantined and does not return`(
            move: Move
        ) async throws {
            let stage = try stage(move)
            let router = launch(stage)
            let source = move.source(stage)
            let key = move.destination(stage).moved(from: source)
            try await router.set("v", for: source)
            _ = try await router.get(key)
            try await router.remove(key)
            let next = launch(stage)
            #expect(try await next.value(for: key) == nil)
            #expect(try await next.names(of: key.domain).isEmpty)
            // An old program writes the removed content again, and then different content.
            for text in ["v", "from an old program"] {
                try await next.set(text, for: source)
                #expect(try await next.value(for: key) == nil)
                let row = try await next.row(of: key)
                #expect(row.state == .resolved, "\(row)")
                #expect(try await next.value(for: source) == nil)
                #expect(try await next.value(for: key) == nil)
            }
            #expect(try await launch(stage).row(of: key).state == .removed)
            // A value can also be removed before it was moved. The removal then deletes the legacy value.
            let other = textKey("other", key.domain).moved(from: source)
            try await next.set("v", for: source)
            try await next.remove(other)
            #expect(try await launch(stage).value(for: other) == nil)
            #expect(try await launch(stage).value(for: source) == nil)
        }

        @Test func `a chain of two migrations moves a value from a property list into a database, and no copy is left`() async throws {
            let stage = try Stage()
            let router = launch(stage)
            let first = textKey("old", .userDefaults(suite: "legacy"), .none)
            let second = textKey("middle", .encryptedSQLite(database: "first")).moved(from: first)
            let third = textKey("new", .encryptedSQLite(database: "second")).moved(from: second)
            try await router.set("v", for: first)
            #expect(try await router.get(third) == "v")
            let next = launch(stage)
            #expect(try await next.names(of: second.domain).isEmpty)
            #expect(try await next.value(for: first) == nil)
            // The property list again contains the value that the destination has, so a sweep deletes the value from the list.
            try await next.set("v", for: first)
            #expect(try await next.row(of: third).state == .purged)
            #expect(try await launch(stage).get(third) == "v")
        }

        @Test func `a move of a tampered row throws corrupted and writes nothing, and works once the row is restored`() async throws {
            let stage = try Stage()
            let source = textKey("old", .encryptedSQLite(database: "first"))
            let key = textKey("new", .encryptedSQLite(database: "second")).moved(from: source)
            let first = launch(stage)
            try await first.set("v", for: source)
            try await first.shutdown()
            let database = try SealedDatabase(path: stage.path(ofDatabase: "first"), keyFile: stage.root.path + "/data/sealing-key")
            try database.tamper(StorageAddress("old")) { $0[$0.count / 2] ^= 1 }
            await expectRefusal(StorageError.corrupted) { _ = try await launch(stage).get(key) }
            #expect(!FileManager.default.fileExists(atPath: stage.path(ofDatabase: "second")))
            try database.tamper(StorageAddress("old")) { $0[$0.count / 2] ^= 1 }
            #expect(try await launch(stage).get(key) == "v")
        }

        #if Keyring
            @Test
            func `a move from the keyring to a database with its encryption key on disk is refused, unless allowsWeakerProtection is set`()
                async throws
            {
                let stage = try Stage(keyring: true)
                let router = launch(stage)
                let source = textKey("old", .keychain)
                let database = textKey("new", .encryptedSQLite(database: "first"))
                try await router.set("precious", for: source)
                await expectRefusal(StorageError.weakerProtection, of: "new", saying: "allowsWeakerProtection") {
                    _ = try await router.get(database.moved(from: source))
                }
                #expect(try await router.row(of: database.moved(from: source)).errorCode == .weakerProtection)
                #expect(try await launch(stage).get(source) == "precious")
                #expect(!FileManager.default.fileExists(atPath: stage.path(ofDatabase: "first")))
                let allowed = database.moved(from: source, options: MigrationOptions(allowsWeakerProtection: true))
                #expect(try await router.get(allowed) == "precious")
                #expect(try await launch(stage).value(for: source) == nil)
                // The record at the destination names the revision of its source, which reveals nothing about the
                // keyring's value.
                #expect(try await router.row(of: allowed).state == .unchanged)
                #expect(try await router.audit().rows.first?.provenance.map(\.name) == ["old"])
            }
        #endif
    }
#endif
