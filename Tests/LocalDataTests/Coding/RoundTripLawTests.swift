#if SQLite
    import BackendContract
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// Laws (statements that are checked with many values) of round trips. Each value is the same after a restart of
    /// the program, with every serializer in every store. Only the plist serializer may refuse a text with `$null`,
    /// which means nil in property lists.
    @Suite(.inTurn, .slow("writes many real files"), .tags(.campaign)) struct RoundTripLawTests {
        /// Texts that formats, shells and parsers treat specially.
        private static let hostile = [
            "", " ", "\t", "\n", "\r\n", "\\", #"\n"#, #"ends with \"#, "$null", "null", "true", "nil", "0", "-0", "1e999", "\"", "'",
            "<![CDATA[", "]]>",
            "&amp;", "<plist>", "${HOME}", "$(id)", "%s%n", "../x", "a/b", "file:x", "e\u{301}", "\u{E9}", "\u{FEFF}x", "\u{202E}x",
            "\u{1F468}\u{200D}\u{1F469}",
            "\u{10FFFF}", "\u{FFFD}", "\u{FFFE}", "\u{1}", "\u{7F}", "\u{85}", "\u{2028}", "a\0b", "{\"a\":1}", "[1]", "LD1:AAAA",
            "LocalData-key-1 0 0",
            String(repeating: "x", count: 5_000),
        ]

        private struct Note: Codable, Sendable, Equatable {
            var text: String
            var other: String?
            var texts: [String]
            var named: [String: String]
            var data: Data
        }

        private static let texts = Arbitrary<String>.one(of: hostile)

        private static let notes = zip(
            texts, zip(texts.optional, texts.list(0...3)), zip(Arbitrary<String>.text(), Arbitrary<[UInt8]>.bytes())
        ).map { text, more, last in
            Note(text: text, other: more.0, texts: more.1, named: [last.0: text], data: Data(last.1))
        }

        /// Stores values with one router, reads them with another one, and compares.
        private func check<Value: Codable & Sendable & Equatable>(
            _ values: Arbitrary<Value>, keyring: Bool = false, _ bytes: @escaping (Value) -> [UInt8]
        ) async throws {
            #if Keyring
                let stage = try Stage(keyring: keyring)
            #else
                let stage = try Stage()
            #endif
            var places: [(StorageDomain, SecurityPolicy)] = [
                (.userDefaults(suite: "list"), .automatic), (.userDefaults(suite: "sealed"), .encrypted(.keyFile("sealing-key"))),
                (.encryptedSQLite(database: "main"), .automatic),
            ]
            if keyring { places.append((.keychain, .automatic)) }
            let batch = 25
            await forAll(values.list(batch...batch), count: 5) { values in
                for serializer in [Serializer<Value>.json, .plist] {
                    for (domain, security) in places {
                        let keys = values.indices.map {
                            StorageKey<Value>(
                                name: "value \($0)", domain: domain, security: security, serializer: serializer, owner: "Tests",
                                description: "A value")
                        }
                        let first = stage.launch()
                        var stored: [Int] = []
                        for (index, value) in values.enumerated() {
                            do {
                                try await first.set(value, for: keys[index])
                                stored.append(index)
                            } catch StorageError.encodingFailed {
                                try hold(serializer.name == "plist" && "\(value)".contains("$null"), "an encodable value was refused")
                            }
                        }
                        try await first.shutdown()
                        let second = stage.launch()
                        for index in stored {
                            let found = try await second.get(keys[index])
                            try hold(
                                found == values[index] && bytes(found) == bytes(values[index]),
                                "\(serializer.name) in \(domain), \(security)")
                        }
                        try await second.shutdown()
                    }
                }
            }
        }

        @Test func `hostile texts are read back unchanged with every serializer in every store`() async throws {
            try await check(Self.texts) { Array($0.utf8) }
            try await check(Arbitrary<String>.text()) { Array($0.utf8) }
        }

        @Test func `values with hostile texts are read back unchanged with every serializer in every store`() async throws {
            try await check(Self.notes) { Array($0.text.utf8) + $0.texts.flatMap { Array($0.utf8) } }
        }

        #if Keyring && os(Linux)
            @Test(.tags(.keyring)) func `values with hostile texts are read back unchanged from a keyring`() async throws {
                try await check(Self.notes, keyring: true) { Array($0.text.utf8) }
            }
        #endif
    }
#endif
