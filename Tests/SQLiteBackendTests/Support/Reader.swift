#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import Sealing
    import TestSupport
    import Testing

    /// Runs the independent reader of the format, and finds its golden files.
    enum Reader {
        /// The folder `Tests/Fixtures/sealed-sqlite`.
        static let folder = testsFolder.appending(path: "Fixtures/sealed-sqlite").path

        /// Runs the reader. If a Python package is missing, the error has the command that installs it.
        static func run(_ arguments: [String], input: String = "") async throws -> String {
            let needs = try await TestSupport.run("/usr/bin/python3", ["-c", "import cryptography, sqlite3"])
            guard needs.status == 0 else {
                throw ProgramFailure(
                    "Python's cryptography is missing. Install it: apt-get install -y --no-install-recommends python3-cryptography")
            }
            let result = try await TestSupport.run("/usr/bin/python3", ["\(folder)/reader.py"] + arguments, input: input)
            guard result.status == 0 else { throw ProgramFailure("reader.py \(arguments): \(result.status), \(result.stderr)") }
            return result.stdout
        }

        /// Returns the content of a database as the reader prints it.
        static func dump(_ path: String, _ keyFile: String) async throws -> Dump {
            try JSONDecoder().decode(Dump.self, from: Data(try await run(["dump", path, keyFile]).utf8))
        }

        /// Copies a golden file to a path where a test may open it.
        static func copy(_ name: String, to path: String) throws {
            try writeFile(try Data(contentsOf: URL(filePath: "\(folder)/\(name)")), to: path)
        }

        static func golden(_ name: String) throws -> Dump {
            try JSONDecoder().decode(Dump.self, from: Data(contentsOf: URL(filePath: "\(folder)/\(name)")))
        }
    }

    /// The output of `reader.py dump`.
    struct Dump: Codable, Hashable {
        struct Key: Codable, Hashable {
            var id: String
            var state: String
        }

        struct Recipient: Codable, Hashable {
            var id: String
            var source: String
        }

        struct State: Codable, Hashable {
            var commits: Int64
            var rows: Int64
            var isAnchored: Bool
        }

        var database: String
        var context: [String]
        var features: [String]
        var formats: [Int]
        var recipients: [Recipient]
        var keys: [Key]
        var state: State
        var records: [DumpedRecord]

        /// The probe (the result of a read) that a store must return for every name.
        var probes: [StorageAddress: StorageProbe] {
            get throws {
                var probes: [StorageAddress: StorageProbe] = [:]
                for record in records {
                    guard let address = record.address else { continue }
                    probes[address] = try record.probe
                }
                return probes
            }
        }
    }

    /// A record in the output of the reader, or in its input for a new database.
    /// A row under a destroyed key has no content.
    struct DumpedRecord: Codable, Hashable {
        var id: Int64?
        var pushedUp: Int64?
        var slot: String?
        var version: Int64?
        var key: String?
        var keyState: String?
        var nonce: String?
        /// The revision of a row that was sealed again.
        var revision: String?
        var paddedSize: Int?
        var namespace: String?
        var name: String?
        var kind: String?
        var metadata: DumpedMetadata?
        var payload: String?

        var address: StorageAddress? { name.map { StorageAddress($0, in: StorageNamespace(namespace ?? "")) } }

        var bytes: [UInt8] { get throws { Array(try #require(Data(base64Encoded: payload ?? ""))) } }

        /// The probe of the record. Its revision is the nonce, unless the row keeps an older revision.
        var probe: StorageProbe {
            get throws {
                guard let unique = BackendContract.bytes(ofHexadecimal: revision ?? nonce ?? "") else {
                    throw ProgramFailure("no nonce: \(nonce ?? "none")")
                }
                let revision = StorageRevision(unique)
                let metadata = try (metadata ?? DumpedMetadata()).metadata
                switch kind {
                case "value": return .value(StorageRecord(payload: .bytes(try bytes), metadata: metadata, revision: revision))
                case "tombstone": return .tombstone(StorageTombstone(metadata: metadata, revision: revision))
                default: throw ProgramFailure("an unknown kind: \(kind ?? "none")")
                }
            }
        }
    }

    /// Metadata in the output of the reader.
    struct DumpedMetadata: Codable, Hashable {
        var serializer: String?
        var typeTag: String?
        var schemaVersion: Int?
        var origin: String?
        var sealing: String?
        var createdAt: Double?
        var modifiedAt: Double?
        var expiresAt: Double?
        var attributes: [String: String]?
        var indexesAttributes: Bool?

        init() {}

        init(_ metadata: StorageMetadata) {
            (serializer, typeTag, schemaVersion, sealing) = (
                metadata.serializer, metadata.typeTag, metadata.schemaVersion, metadata.sealing
            )
            (createdAt, modifiedAt, expiresAt) = (metadata.createdAt, metadata.modifiedAt, metadata.expiresAt)
            origin = metadata.origin.map { Data($0).base64EncodedString() }
            attributes = metadata.attributes.isEmpty ? nil : metadata.attributes
            indexesAttributes = metadata.indexesAttributes ? nil : false
        }

        var metadata: StorageMetadata {
            get throws {
                StorageMetadata(
                    serializer: serializer, typeTag: typeTag, schemaVersion: schemaVersion,
                    origin: try origin.map { Array(try #require(Data(base64Encoded: $0))) }, sealing: sealing, createdAt: createdAt,
                    modifiedAt: modifiedAt, expiresAt: expiresAt, attributes: attributes ?? [:],
                    indexesAttributes: indexesAttributes ?? true)
            }
        }
    }

    /// A key file with a chosen pin. The pin is the name by which a database identifies its key source.
    struct PinnedKeyFile: KeySource {
        let file: KeyFileSource
        let pin: String

        init(_ path: String, pin: String) {
            file = KeyFileSource(path: path, deadline: .seconds(60), runtime: .live)
            self.pin = pin
        }

        var identifier: String { file.identifier }
        var protection: ProtectionLevel { file.protection }
        func load() async throws(BackendError) -> SourceKeys? { try await file.load() }
        func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys { try await file.create(keys) }
    }
#endif
