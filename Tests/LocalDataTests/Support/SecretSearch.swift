import BackendContract
import Foundation
import LocalData
import TestSupport

/// Searches every file below a folder for a text, as an attacker who has the disk would.
///
/// The search finds the text in UTF-8, in UTF-16, in hexadecimal, and in base64 at any offset.
/// It also finds a fingerprint of the text, because a short secret can be guessed from its fingerprint.
struct SecretSearch {
    private let needles: [Data]

    init(_ text: String) {
        let fingerprints = Self.fingerprints(of: text)
        needles =
            Self.forms(of: Data(text.utf8)) + fingerprints.flatMap(Self.forms)
            + [String.Encoding.utf16LittleEndian, .utf16BigEndian].compactMap { text.data(using: $0) }
    }

    /// Returns the fingerprints of a value, as a native text and as the bytes of a serializer.
    static func fingerprints(of text: String) -> [Data] {
        let payloads: [StoragePayload] = [.native(.string(text)), .bytes(Array(text.utf8)), .bytes(Array("\"\(text)\"".utf8))]
        return payloads.compactMap { payload in
            let record = StorageRecord(payload: payload, revision: StorageRevision([]))
            return bytes(ofHexadecimal: RecordOrigin.fingerprint(of: record)).map { Data($0) }
        }
    }

    /// Returns bytes in unchanged form, in hexadecimal, and in base64.
    private static func forms(of bytes: Data) -> [Data] {
        let hexadecimal = hexadecimalText(of: bytes)
        var texts = [hexadecimal, hexadecimal.uppercased()]
        for offset in 0..<3 {
            let encoded = (Data(count: offset) + bytes).base64EncodedString()
            // Keep only the characters that do not depend on the bytes before and after.
            texts.append(String(encoded.prefix((offset + bytes.count) * 8 / 6).dropFirst((offset * 8 + 5) / 6)))
        }
        return [bytes] + texts.map { Data($0.utf8) }
    }

    func isFound(in data: Data) -> Bool { needles.contains { data.range(of: $0) != nil } }

    /// Returns the files below a folder that contain the text in their content or in their name.
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
    /// Returns every file in the stage, the folder of a test, that contains a text in any encoding.
    func traces(of text: String) throws -> [String] { try SecretSearch(text).files(below: URL(fileURLWithPath: directory.path)) }

    /// Returns the path of a database file.
    func path(ofDatabase name: String) -> String { root.path + "/data/databases/\(name).sqlite" }
}
