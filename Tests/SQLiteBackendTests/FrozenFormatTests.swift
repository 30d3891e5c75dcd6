#if SQLite
    import BackendContract
    import Crypto
    import Foundation
    import TestSupport
    import Testing

    /// Tests that the files that define format 1 never change, because programs have written data in it.
    /// The golden files are stores in format 1 that every later version must read.
    struct FrozenFormatTests {
        private static let tests = URL(filePath: Reader.folder).deletingLastPathComponent().deletingLastPathComponent()

        private static let advice: Comment =
            "Format 1 must not change, because programs have written data in it. Add a feature or another format, and add vectors beside these."

        /// Splits a file of vectors into its top-level members and their texts.
        /// The generators print each member on one line or several lines.
        private func members(_ path: String) throws -> [String: Substring] {
            let text = try String(contentsOf: Self.tests.appending(path: path), encoding: .utf8)
            #expect(text.hasPrefix("{\n") && text.hasSuffix("\n}\n"))
            var members: [String: Substring] = [:]
            var start: Substring.Index?
            func end(_ place: Substring.Index) {
                guard let start else { return }
                let member = text[start..<place]
                let name = member.dropFirst(3).prefix { $0 != "\"" }
                members[String(name)] = member.reversed().first == "," ? member.dropLast() : member
            }
            var place = text.index(text.startIndex, offsetBy: 2)
            while let next = text[place...].firstIndex(of: "\n") {
                let line = text[place..<next]
                if line.hasPrefix("  \"") || line == "}" {
                    end(text.index(before: place))
                    start = place
                }
                place = text.index(after: next)
            }
            return members
        }

        private func digest(_ bytes: some DataProtocol) -> String { hexadecimalText(of: SHA256.hash(data: bytes).prefix(8)) }

        @Test(arguments: ["Fixtures/sealed-sqlite/vectors.json", "Fixtures/envelopes/vectors.json"])
        func `the test vectors of format 1 have the digests that this file records`(path: String) throws {
            let members = try members(path)
            let frozen = try #require(Self.frozenVectors[path])
            for (name, digest) in frozen {
                #expect(members[name].map { self.digest(Data($0.utf8)) } == digest, Self.advice)
            }
            let new = Set(members.keys).subtracting(frozen.keys)
            let report = "\(path): \(members.map { "\"\($0)\": \"\(digest(Data($1.utf8)))\"" }.sorted().joined(separator: ", "))"
            #expect(new.isEmpty, "\(new) are not frozen yet: \(report)")
        }

        @Test(arguments: [
            "Fixtures/sealed-sqlite", "LocalDataTests/Fixtures/Releases/0.1", "LocalDataTests/Fixtures/Releases/0.1.0",
            "LocalDataTests/Fixtures/Backups",
        ])
        func `the golden files of format 1 have the digests that this file records`(folder: String) throws {
            let root = Self.tests.appending(path: folder)
            let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: [.isRegularFileKey]))
            var hash = SHA256()
            var count = 0
            for url in files.compactMap({ $0 as? URL }).sorted(by: { $0.path < $1.path }) {
                let isGolden = folder.hasPrefix("LocalDataTests/") || url.lastPathComponent.hasPrefix("golden")
                guard isGolden, try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { continue }
                count += 1
                hash.update(data: Data(url.path.dropFirst(root.path.count).utf8))
                hash.update(data: try Data(contentsOf: url))
            }
            let found = "\(count) files, \(hexadecimalText(of: hash.finalize().prefix(8)))"
            #expect(found == Self.frozenFiles[folder], Self.advice)
        }

        private static let frozenVectors: [String: [String: String]] = [
            "Fixtures/sealed-sqlite/vectors.json": [
                "database": "9c45d15884a9d3ab", "header": "a806c26641e044ca", "keks": "5c41c49db4ce1156", "keys": "07cf536198cda4c6",
                "label": "819aa4ecc4a7740f", "records": "4fc461fb5ae49bcb", "seed": "f7eda3fcb74733a2",
                "server": "ecfcb23554d24862", "sizes": "c8dfec11bced6da1", "state": "806c183a7f42be21",
                "unindexed": "45bc52e42cdf7387", "wraps": "30a99b374607aff3",
            ],
            "Fixtures/envelopes/vectors.json": [
                "envelopes": "7e912def46ef5225", "id": "4d42f6985132a5c3", "key": "113d01616a0368e0", "metadata": "956011fa1ec5e9a4",
                "metadataBytes": "d098f31340e72598", "quarantineName": "71173504122867c4", "seed": "f7eda3fcb74733a2",
            ],
        ]

        private static let frozenFiles: [String: String] = [
            "Fixtures/sealed-sqlite": "8 files, 2511efb9b38c454d",
            "LocalDataTests/Fixtures/Releases/0.1": "10 files, 58a5df6975a9f5c9",
            "LocalDataTests/Fixtures/Releases/0.1.0": "16 files, 8e22a04e08573ad8",
            "LocalDataTests/Fixtures/Backups": "1 files, 700b0ce93e3ae20a",
        ]
    }
#endif
