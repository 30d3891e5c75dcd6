import BackendContract
import Crypto
import Foundation
import TestSupport
import Testing

@testable import Sealing

/// Tests that sealed values match the vectors of the independent reader in `Tests/Fixtures/envelopes`.
@Suite struct EnvelopeVectorTests {
    private struct Vectors: Decodable {
        struct Envelope: Decodable {
            let purpose, content, associated, salt, nonce, sealed: String
            let store, texts: [String]
        }
        let key, id, metadataBytes, quarantineName: String
        let envelopes: [Envelope]
    }

    private let vectors: Vectors
    private let key: SealingKey

    /// The metadata of the vectors.
    private var metadata: StorageMetadata {
        StorageMetadata(
            serializer: "json", typeTag: "Account", schemaVersion: 3, origin: Array("an origin".utf8), sealing: "1:\(vectors.id)",
            createdAt: 1_700_000_000.25, modifiedAt: 1_700_000_001.5, expiresAt: 1_800_000_000,
            attributes: ["name": "text", "syncStatus": "synced"])
    }

    init() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fixtures/envelopes")
        vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: folder.appending(path: "vectors.json")))
        key = SealingKey(key: SymmetricKey(data: try #require(bytes(ofHexadecimal: vectors.key))))
    }

    @Test func `associated data, sealed bytes and opened content match the vectors`() throws {
        #expect(hexadecimalText(of: key.id) == vectors.id)
        #expect(hexadecimalText(of: RecordCodec.encodeMetadata(metadata)) == vectors.metadataBytes)
        #expect(Set(vectors.envelopes.map(\.purpose)) == Set(Envelope.Purpose.allCases.map(\.rawValue)))
        for vector in vectors.envelopes {
            let store = StoreContext(application: vector.store[0], kind: vector.store[1], scope: vector.store[2])
            var context = Envelope.Context(try #require(Envelope.Purpose(rawValue: vector.purpose)), in: store)
            for text in vector.texts { context.add(text) }
            context.add(metadata)
            #expect(hexadecimalText(of: context.bytes) == vector.associated)
            let (salt, nonce) = (try hex(vector.salt), try hex(vector.nonce))
            let sealed = try Envelope.seal(try hex(vector.content), with: key, for: context) { $0 == salt.count ? salt : nonce }
            #expect(hexadecimalText(of: sealed) == vector.sealed)
            #expect(try Envelope.open(try hex(vector.sealed), with: key, for: context) == hex(vector.content))
        }
    }

    @Test func `the key that hides the names of quarantined values matches the vectors`() throws {
        let subkey = key.subkey("LocalData quarantine name 1")
        #expect(subkey == SymmetricKey(data: try hex(vectors.quarantineName)))
    }

    private func hex(_ text: String) throws -> [UInt8] { try #require(bytes(ofHexadecimal: text)) }
}
