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
        private struct Note: Codable, Sendable, Equatable {
            var text: String
            var other: String?
            var texts: [String]
            var named: [String: String]
            var data: Data
        }

        /// Half of the texts are of the list, and half of them consist of scalars that are easily mishandled.
        private static let texts = Arbitrary<String>.any(of: [.one(of: hostileTexts), .text()])

        private static let notes = zip(
            texts, zip(texts.optional, texts.list(0...3)), zip(Arbitrary<String>.text(), Arbitrary<[UInt8]>.bytes())
        ).map { text, more, last in
            Note(text: text, other: more.0, texts: more.1, named: [last.0: text], data: Data(last.1))
        }

        /// The stores with files, plain and sealed.
        private static let files: [(StorageDomain, SecurityPolicy)] = [
            (.userDefaults(suite: "list"), .automatic), (.userDefaults(suite: "sealed"), .encrypted(.keyFile("sealing-key"))),
            (.encryptedSQLite(database: "main"), .automatic),
        ]

        /// Stores values with one router, reads them with another one, and compares. The values are stored at the same time, because a
        /// store commits waiting changes together. A failure names the seed of its value.
        ///
        /// If a property list has two equal texts, such as é as one and as two scalars, Foundation's encoder stores one of them. Then the
        /// bytes of the other one differ.
        private func check<Value: Codable & Sendable & Equatable>(
            _ values: Arbitrary<Value>, count: Int = 500, in places: [(StorageDomain, SecurityPolicy)] = files, on stage: Stage,
            hasSeveralTexts: Bool = false,
            _ bytes: (Value) -> [UInt8]
        ) async throws {
            let drawn = LawSettings().seeds(count: count, from: 0).map { seed in (seed, values.tree(seed: seed).value) }
            for serializer in [Serializer<Value>.json, .plist] {
                for (domain, security) in places {
                    func key(_ seed: UInt64) -> StorageKey<Value> {
                        StorageKey<Value>(
                            name: "value \(seed)", domain: domain, security: security, serializer: serializer, owner: "Tests",
                            description: "A value")
                    }
                    let first = stage.launch()
                    let stored = try await withThrowingTaskGroup(of: UInt64?.self) { group in
                        for (seed, value) in drawn {
                            let target = key(seed)
                            group.addTask {
                                do { try await first.set(value, for: target) } catch StorageError.encodingFailed {
                                    let mayRefuse = target.serializer.name == "plist" && "\(value)".contains("$null")
                                    #expect(mayRefuse, "seed \(seed): an encodable value was refused")
                                    return nil
                                }
                                return seed
                            }
                        }
                        var stored: Set<UInt64> = []
                        for try await seed in group { if let seed { stored.insert(seed) } }
                        return stored
                    }
                    try await first.shutdown()
                    #expect(drawn.count == 1 || stored.count * 2 > drawn.count)
                    let second = stage.launch()
                    for (seed, value) in drawn where stored.contains(seed) {
                        let found = try await second.get(key(seed))
                        let isExempt = serializer.name == "plist" && hasSeveralTexts
                        let isSame = found == value && (isExempt || bytes(found) == bytes(value))
                        #expect(isSame, "seed \(seed): \(serializer.name) in \(domain), \(security): \(value) was read as \(found)")
                    }
                    try await second.shutdown()
                }
            }
        }

        @Test func `500 hostile texts are read back unchanged with every serializer in every store`() async throws {
            try await check(Self.texts, on: Stage()) { Array($0.utf8) }
        }

        @Test func `500 values with hostile texts are read back unchanged with every serializer in every store`() async throws {
            try await check(Self.notes, on: Stage(), hasSeveralTexts: true) { Array($0.text.utf8) + $0.texts.flatMap { Array($0.utf8) } }
        }

        #if Keyring && os(Linux)
            @Test(.tags(.keyring)) func `500 hostile texts in lists of four are read back unchanged from a keyring`() async throws {
                let stage = try Stage(keyring: true)
                try await check(Self.texts.list(4...4), count: 125, in: [(.keychain, .automatic)], on: stage) { texts in
                    texts.flatMap { Array($0.utf8) }
                }
            }

            private static let styles: [KeyringStyle] = [
                .secretTool(), .pythonKeyring, .goKeyring, .keyringRS(), .keyringRS(target: "git"),
            ]

            /// Whether a keyring may lose a text in the format of another program: see `KeyringStyle`.
            private static func mayBeLost(_ text: String) -> Bool {
                let (lost, blanks): ([UInt8], [UInt8]) = ([0x00, 0x0A, 0x0D, 0x5C], [0x09, 0x20])
                guard let first = text.utf8.first else { return true }
                return blanks.contains(first) || text.utf8.contains { lost.contains($0) }
            }

            @Test(.tags(.keyring), arguments: styles.indices)
            func `100 hostile texts in the format of another program are read back unchanged, or refused if a keyring may lose them`(
                _ number: Int
            ) async throws {
                let stage = try Stage(keyring: true)
                let launch = { stage.launch { $0.keychainStyles[stage.service] = Self.styles[number] } }
                let seeds = LawSettings().seeds(count: 100 - hostileTexts.count, from: UInt64(number) * 100)
                let texts = hostileTexts + seeds.map { Arbitrary<String>.text().tree(seed: $0).value }
                func key(_ index: Int) -> StorageKey<String> { textKey("value \(index)", .keychain) }
                let first = launch()
                var stored: [Int] = []
                for (index, text) in texts.enumerated() {
                    do {
                        try await first.set(text, for: key(index))
                        stored.append(index)
                        #expect(!Self.mayBeLost(text), "\(String(reflecting: text)) was stored")
                    } catch StorageError.unsupported { #expect(Self.mayBeLost(text), "\(String(reflecting: text)) was refused") }
                }
                try await first.shutdown()
                #expect(stored.count * 4 > texts.count)
                let second = launch()
                for index in stored {
                    let found = try await second.get(key(index))
                    #expect(Array(found.utf8) == Array(texts[index].utf8), "\(String(reflecting: texts[index]))")
                }
                try await second.shutdown()
            }
        #endif
    }
#endif
