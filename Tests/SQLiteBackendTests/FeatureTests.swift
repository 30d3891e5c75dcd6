#if SQLite
    import BackendContract
    import Foundation
    import Sealing
    import TestSupport
    import Testing

    @testable import SQLiteBackend

    /// Tests of databases from a later version, with a feature that this version does not know.
    /// The header states whether a version without the feature may read or write the database.
    @Suite(.inTurn) struct FeatureTests {
        private let folder: TemporaryDirectory
        private let path: String
        private let keyFile: String

        init() throws {
            folder = try TemporaryDirectory()
            path = folder.file("later.sqlite")
            keyFile = folder.file("later.key")
        }

        /// Makes a database with a feature, with the independent reader.
        /// - Parameter table: The statement that creates the feature's table; nil for a feature without one.
        private func make(
            _ need: DatabaseFeature.Need, named name: String = "telepathy", table: String? = nil
        ) async throws -> SQLiteStore {
            let record = DumpedRecord(name: "name", payload: Data("value".utf8).base64EncodedString())
            let input = String(decoding: try JSONEncoder().encode([record]), as: UTF8.self)
            let feature = "\(name):\(need.rawValue)" + (table.map { ":\($0)" } ?? "")
            _ = try await Reader.run(["make", path, keyFile, "--feature", feature], input: input)
            return sqliteStore(at: path, source: PinnedKeyFile(keyFile, pin: "test"))
        }

        private static let changes: [StorageMutation] = [
            .text("new", at: "name"), .delete(StorageAddress("name")), .tombstone(at: StorageAddress("other")),
            .text("labelled", at: "name", in: StorageNamespace("shelf")),
        ]

        /// Development versions of the library wrote `chunks` and `ordered`.
        private static let unknown: [(String, String?)] = [
            ("telepathy", nil), ("ordered", nil), ("chunks", "CREATE TABLE chunks (id INTEGER PRIMARY KEY, sealed BLOB NOT NULL)"),
        ]

        @Test(arguments: unknown)
        func `a database with a feature that readers must know is refused, with the name of the feature in the error`(
            name: String, table: String?
        ) async throws {
            let store = try await make(.reading, named: name, table: table)
            let before = try Data(contentsOf: URL(filePath: path))
            for mutation in Self.changes {
                let error = try await store.apply(mutation).error
                #expect(error?.code == .unsupported && error?.reason.contains("\"\(name)\"") == true)
            }
            let error = try await store.read(StorageAddress("name")).error
            #expect(error?.code == .unsupported && error?.reason.contains("\"\(name)\"") == true)
            #expect(await failure { () throws(BackendError) in try await store.addresses(in: .values) }?.code == .unsupported)
            #expect(await failure { () throws(BackendError) in try await store.verifyIntegrity { _ in } }?.code == .unsupported)
            #expect(await failure { () throws(BackendError) in try await store.acceptContents() }?.code == .unsupported)
            await store.close()
            #expect(try Data(contentsOf: URL(filePath: path)) == before)
        }

        @Test func `a database with a feature that writers must know can be read but not changed`() async throws {
            let store = try await make(.writing)
            let before = try Data(contentsOf: URL(filePath: path))
            #expect(try await store.text("name") == "value")
            #expect(try await store.addresses(in: .values) == [StorageAddress("name")])
            for mutation in Self.changes {
                let error = try await store.apply(mutation).error
                #expect(error?.code == .unsupported && error?.outcome == .notApplied)
                #expect(error?.reason.contains("telepathy") == true && error?.reason.contains("can be read") == true)
            }
            #expect(try await store.text("name") == "value")
            await store.close()
            #expect(try Data(contentsOf: URL(filePath: path)) == before)
        }

        @Test func `a feature that no program must know is preserved by every change`() async throws {
            let store = try await make(.nothing)
            #expect(try await store.text("name") == "value")
            for mutation in Self.changes { #expect(try await store.apply(mutation).isApplied) }
            await store.close()
            // The changes added the feature of labels.
            #expect(try await Reader.dump(path, keyFile).features == ["labels", "telepathy"])
        }

        @Test func `a list of features is read back unchanged, and any other encoding is refused`() throws {
            let later = DatabaseFeature(name: "zeal", need: .nothing, tables: ["CREATE TABLE a (b)", "CREATE TABLE c (d)"])
            let bytes = DatabaseFeature.bytes(of: [.labels, later])
            #expect(try DatabaseFeature.features(bytes) == [.labels, later])
            for count in 1..<bytes.count where count != DatabaseFeature.bytes(of: [.labels]).count {
                #expect(throws: RecordDamage.self) { try DatabaseFeature.features(Array(bytes[..<count])) }
            }
            let wrong: [[DatabaseFeature]] = [
                [later, .labels], [later, later], [DatabaseFeature(name: "labels", need: .nothing, tables: DatabaseFeature.labels.tables)],
                [DatabaseFeature(name: "labels", need: .writing, tables: [])],
                [DatabaseFeature(name: "view", need: .nothing, tables: ["CREATE VIEW a AS SELECT 1"])],
                [
                    DatabaseFeature(
                        name: "trigger", need: .nothing, tables: ["CREATE TRIGGER a AFTER INSERT ON records BEGIN SELECT 1; END"])
                ],
            ]
            for features in wrong {
                #expect(throws: RecordDamage.self) { try DatabaseFeature.features(DatabaseFeature.bytes(of: features)) }
            }
        }
    }

    extension DumpedRecord {
        fileprivate init(name: String, payload: String) {
            self.init()
            (self.name, self.payload) = (name, payload)
        }
    }

    extension StorageMutation {
        fileprivate static func text(_ text: String, at name: String, in namespace: StorageNamespace) -> StorageMutation {
            .put(.bytes(Array(text.utf8)), at: StorageAddress(name, in: namespace))
        }
    }
#endif
