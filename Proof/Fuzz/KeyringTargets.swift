import Foundation

@testable import BackendContract
@testable import KeyringBackend

/// Fuzz targets for secrets of keyring items. A secret is a line that LocalData wrote, or a bare text, which another
/// program wrote or can read.
extension FuzzTarget {
    static let keyring: [FuzzTarget] = [
        FuzzTarget(name: "keyring-lines", seeds: { KeyringSeeds.lines }) { (bytes) throws(BrokenPromise) in try checkSecret(bytes) },
        FuzzTarget(name: "keyring-records", seeds: { RecordSeeds.framed.map { Array($0.dropFirst(4).dropLast(4)) } }) {
            (bytes) throws(BrokenPromise) in
            let framed = RecordSeeds.frame(bytes)
            let probe = try checkSecret(KeyringSeeds.line(framed))
            switch RecordCodec.decode(framed) {
            case .record(let record):
                try promise(probe.record.map(RecordCodec.encode) == framed, "a record does not come back")
                try checkText(record.payload)
            case .tombstone:
                guard case .tombstone(let found) = probe else { throw BrokenPromise(description: "a tombstone does not come back") }
                try promise(RecordCodec.encode(found) == framed, "a tombstone does not come back")
            default: try promise(probe.isCorrupt, "a damaged record is not called damaged")
            }
        },
        FuzzTarget(name: "base64", seeds: { KeyringSeeds.texts }) { (bytes) throws(BrokenPromise) in
            // Any bytes have exactly one base64 text, and it decodes to them.
            let text = Base64.encode(bytes)
            try promise(text == Array(Data(bytes).base64EncodedData()), "the text is not that of Foundation")
            try promise(Base64.decode(text[...]) == bytes, "bytes do not come back from their text")
            guard let content = try steady(bytes, { Base64.decode($0[...]) }) else {
                // Foundation also accepts texts whose unused bits are not zero, so that the same bytes have two texts.
                // This decoder must refuse such texts.
                let lax = Data(base64Encoded: Data(bytes))
                return try promise(lax == nil || lax.map { Base64.encode(Array($0)) } != bytes, "a text is refused")
            }
            try promise(Base64.encode(content) == bytes, "there are two texts of the same bytes")
        },
    ]

    @discardableResult
    private static func checkSecret(_ secret: [UInt8]) throws(BrokenPromise) -> StorageProbe {
        let revision = StorageRevision([0xF0, 1])
        let probe = KeyringPayload.probe(secret, isInterop: false, revision: revision)
        // Compare the bytes, because a time that is NaN is not equal to itself.
        _ = try steady(secret) { (secret) -> [UInt8] in
            let probe = KeyringPayload.probe(secret, isInterop: false, revision: revision)
            switch probe {
            case .value(let record): return KeyringPayload.line(record)
            case .tombstone(let tombstone): return KeyringPayload.line(tombstone)
            default: return Array("\(probe)".utf8)
            }
        }
        switch probe {
        case .value(let record) where record.isForeign:
            try promise(!secret.starts(with: "LD1:".utf8), "a LocalData line is read as foreign")
            try promise(bytes(of: record.payload) == secret, "a foreign secret is not read unchanged")
        case .value(let record): try promise(KeyringPayload.line(record) == secret, "there are two ways to write a record")
        case .tombstone(let tombstone): try promise(KeyringPayload.line(tombstone) == secret, "there are two ways to write a tombstone")
        case .corrupt(let corruption):
            try promise(corruption.bytes == secret && corruption.revision == revision, "damaged bytes are not kept as they stand")
        case .unavailable(let error): try promise(error.code == .unsupported, "a later format is not named")
        case .absent, .locked: throw BrokenPromise(description: "bytes that are there are called absent or locked")
        }
        let bare = try steady(secret) { KeyringPayload.probe($0, isInterop: true, revision: revision) }
        try promise(bare.record.flatMap { bytes(of: $0.payload) } == secret, "bare text is not read as it stands")
        return probe
    }

    /// Checks the text that is written for other programs, without LocalData's format. It must be read back unchanged.
    private static func checkText(_ payload: StoragePayload) throws(BrokenPromise) {
        guard let text = try? KeyringPayload.text(payload) else { return }
        let back = KeyringPayload.probe(text, isInterop: true, revision: StorageRevision([1])).record?.payload
        guard case .native(.string(let string)) = back else { throw BrokenPromise(description: "bare text is no text") }
        try promise(string.utf8.elementsEqual(text), "bare text does not come back")
    }

    private static func bytes(of payload: StoragePayload) -> [UInt8]? {
        switch payload {
        case .native(.string(let text)): Array(text.utf8)
        case .native(.data(let bytes)): bytes
        default: nil
        }
    }
}

extension StorageProbe {
    fileprivate var isCorrupt: Bool { if case .corrupt = self { true } else { false } }
}

enum KeyringSeeds {
    static let lines: [[UInt8]] =
        RecordSeeds.framed.map(line) + ["LD1:", "LD1:TERSAQ==", "LD1:TERSAg==", "secret", "LD1"].map { Array($0.utf8) } + [
            [0xFF, 0xFE], [],
        ]

    static let texts: [[UInt8]] = ["", "YQ==", "YWI=", "YWJj", "+/+/", "YR==", "YWJjZGVm\n"].map { Array($0.utf8) } + [[0, 1, 2, 255]]

    /// Returns the secret that LocalData would write for the bytes of a record. Here, Foundation encodes the base64
    /// text, instead of the library.
    static func line(_ record: [UInt8]) -> [UInt8] { Array("LD1:".utf8) + Data(record).base64EncodedData() }
}
