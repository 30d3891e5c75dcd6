import BackendContract
import Foundation
import LocalData
import TestSupport

/// Looks for a text in every file below a folder, as somebody would who has the disk: as it is, in UTF-16, in hexadecimal, and in base64 wherever it may begin. A fingerprint of
/// it is looked for, too: with one, a short secret is found by trying.
struct SecretSearch {
    private let needles: [Data]

    init(_ text: String) {
        let fingerprints = Self.fingerprints(of: text)
        needles =
            Self.forms(of: Data(text.utf8)) + fingerprints.flatMap(Self.forms)
            + [String.Encoding.utf16LittleEndian, .utf16BigEndian].compactMap { text.data(using: $0) }
    }

    /// The fingerprints of a value, as a text and as the bytes of a serializer.
    static func fingerprints(of text: String) -> [Data] {
        let payloads: [StoragePayload] = [.native(.string(text)), .bytes(Array(text.utf8)), .bytes(Array("\"\(text)\"".utf8))]
        return payloads.compactMap { payload in
            let record = StorageRecord(payload: payload, revision: StorageRevision([]))
            return bytes(ofHexadecimal: RecordOrigin.fingerprint(of: record)).map { Data($0) }
        }
    }

    /// Bytes as they are, in hexadecimal, and in base64.
    private static func forms(of bytes: Data) -> [Data] {
        let hexadecimal = hexadecimalText(of: bytes)
        var texts = [hexadecimal, hexadecimal.uppercased()]
        for offset in 0..<3 {
            let encoded = (Data(count: offset) + bytes).base64EncodedString()
            // The characters that hold bits of this text alone.
            texts.append(String(encoded.prefix((offset + bytes.count) * 8 / 6).dropFirst((offset * 8 + 5) / 6)))
        }
        return [bytes] + texts.map { Data($0.utf8) }
    }

    func isFound(in data: Data) -> Bool { needles.contains { data.range(of: $0) != nil } }

    /// The files below a folder that hold the text, in their content or their name.
    func files(below folder: URL) throws -> [String] {
        var found: [String] = []
        let all = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
        while let url = all?.nextObject() as? URL {
            if isFound(in: Data(url.lastPathComponent.utf8)) { found.append(url.lastPathComponent) }
            guard try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { continue }
            if isFound(in: try Data(contentsOf: url)) { found.append(url.lastPathComponent) }
        }
        return found
    }
}

extension Stage {
    /// Every file of the stage that holds a text in any of its forms.
    func traces(of text: String) throws -> [String] { try SecretSearch(text).files(below: URL(fileURLWithPath: directory.path)) }

    /// The files of a database, by their endings.
    func path(ofDatabase name: String) -> String { root.path + "/data/databases/\(name).sqlite" }
}
