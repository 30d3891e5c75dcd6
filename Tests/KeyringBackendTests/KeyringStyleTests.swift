#if Keyring && os(Linux)
    import BackendContract
    import KeyringBackend
    import TestSupport
    import Testing

    /// Tests of keyring styles. A style makes a store use the attributes and texts of another program,
    /// so that both share items.
    /// The other programs are secret-tool, python-keyring, go-keyring and keyring-rs.
    /// The items are kept by the real gnome-keyring, and by a simulated oo7-daemon.
    @Suite(.slow("uses a real keyring"), .inTurn, .timeLimit(.minutes(10)), .tags(.keyring)) struct KeyringStyleTests {
        /// A style, the attributes that its program writes, and the attributes by which the program looks up an item.
        struct Sample: Sendable, CustomTestStringConvertible {
            let name: String
            let style: KeyringStyle
            let written: [String: String]
            let lookedUp: [String: String]
            var testDescription: String { name }
        }

        static let samples = [
            Sample(
                name: "secret-tool", style: .secretTool(attributes: ["colour": "blue"]),
                written: ["colour": "blue", "service": "S", "account": "N"],
                lookedUp: ["colour": "blue", "service": "S", "account": "N"]),
            Sample(
                name: "python", style: .pythonKeyring,
                written: ["application": "Python keyring library", "service": "S", "username": "N"],
                lookedUp: ["service": "S", "username": "N"]),
            Sample(
                name: "go", style: .goKeyring, written: ["service": "S", "username": "N"], lookedUp: ["service": "S", "username": "N"]),
            Sample(
                name: "rust with a target", style: .keyringRS(target: "T"), written: ["service": "S", "username": "N", "target": "T"],
                lookedUp: ["service": "S", "username": "N", "target": "T"]),
            Sample(
                name: "rust", style: .keyringRS(), written: ["service": "S", "username": "N"], lookedUp: ["service": "S", "username": "N"]),
        ]

        private func filled(_ attributes: [String: String], _ name: String, _ fixture: KeyringFixture) -> [String: String] {
            attributes.mapValues { $0 == "S" ? fixture.service : $0 == "N" ? name : $0 }
        }

        @Test(arguments: samples, KeyringProgram.allCases)
        func `the other program finds a value that this store wrote, with exactly the attributes of its style`(
            sample: Sample, keeper: KeyringProgram
        ) async throws {
            let fixture = try await KeyringFixture(keeper)
            let store = fixture.store(sample.style)
            let address = StorageAddress("ann")
            let result = try await store.apply(.put(.native(.string("pässword")), at: address, if: .absent))
            guard case .applied(let revision?, .durable) = result else { throw ProgramFailure("not stored: \(result)") }
            #expect(try await store.read(address).revision == revision)
            #expect(try await fixture.secretTool(["lookup"] + filled(sample.lookedUp, "ann", fixture).arguments).stdout == "pässword")
            let found = try await fixture.secretTool(["search"] + filled(sample.lookedUp, "ann", fixture).arguments)
            let attributes = (found.stdout + found.stderr).split(separator: "\n").filter { $0.hasPrefix("attribute.") }.map(String.init)
            #expect(
                Set(attributes)
                    == Set(filled(sample.written.merging(keeper.added) { $1 }, "ann", fixture).map { "attribute.\($0.key) = \($0.value)" }))
        }

        @Test(arguments: samples, KeyringProgram.allCases) func `a value of the other program is read, listed, replaced and deleted`(
            sample: Sample, keeper: KeyringProgram
        ) async throws {
            let fixture = try await KeyringFixture(keeper)
            let store = fixture.store(sample.style)
            let address = StorageAddress("bob")
            _ = try await fixture.secretTool(
                ["store", "--label=theirs"] + filled(sample.written, "bob", fixture).arguments, input: "their word")
            let probe = try await store.read(address)
            #expect(probe.record?.payload == .native(.string("their word")))
            #expect(probe.record?.isForeign == true)
            #expect(try await store.addresses(in: .values) == [address])
            let revision = try #require(probe.revision)
            #expect(try await store.apply(.put(.bytes(Array("our word".utf8)), at: address, if: .revision(revision))).isApplied)
            #expect(try await fixture.secretTool(["lookup"] + filled(sample.lookedUp, "bob", fixture).arguments).stdout == "our word")
            guard case .conflict = try await store.apply(.delete(address, if: .revision(revision))) else { throw ProgramFailure("deleted") }
            #expect(try await store.apply(.delete(address)).isApplied)
            #expect(try await fixture.secretTool(["lookup"] + filled(sample.lookedUp, "bob", fixture).arguments).stdout == "")
        }

        @Test(arguments: samples, KeyringProgram.allCases) func `a value that the other program cannot read is refused`(
            sample: Sample, keeper: KeyringProgram
        ) async throws {
            let fixture = try await KeyringFixture(keeper)
            let store = fixture.store(sample.style)
            let address = StorageAddress("eve")
            let mutations: [StorageMutation] = [
                .tombstone(at: address), .put(.bytes([0xFF, 0xFE]), at: address), .put(.native(.array([])), at: address),
                .put(.native(.string("x")), at: StorageAddress("eve", in: StorageNamespace("other"))),
                // A keyring without a password, KWallet, or a killed daemon would alter each of the following texts.
                .put(.native(.string("two\nlines")), at: address), .put(.bytes(Array("cut\0off".utf8)), at: address),
                .put(.native(.string("")), at: address), .put(.native(.string(#"a\nb"#)), at: address),
                .put(.native(.string(#"ends with \"#)), at: address), .put(.native(.string(" blank")), at: address),
                .put(.bytes(Array("\ttab".utf8)), at: address), .put(.native(.string("a\rb")), at: address),
            ]
            for mutation in mutations {
                guard case .failed(let error) = try await store.apply(mutation) else { throw ProgramFailure("accepted: \(mutation)") }
                #expect(error.code == .unsupported && error.outcome == .notApplied)
            }
            #expect(try await store.read(address) == .absent)
        }

        @Test(arguments: samples, KeyringProgram.allCases) func `an item with an empty text is corrupt and can be replaced`(
            sample: Sample, keeper: KeyringProgram
        ) async throws {
            let fixture = try await KeyringFixture(keeper)
            let store = fixture.store(sample.style)
            let address = StorageAddress("tom")
            _ = try await fixture.secretTool(["store", "--label=torn"] + filled(sample.written, "tom", fixture).arguments, input: "")
            let corruption = try #require(try await store.read(address).corruption)
            #expect(corruption.bytes.isEmpty)
            let revision = try #require(corruption.revision)
            #expect(try await store.apply(.put(.native(.string("whole")), at: address, if: .revision(revision))).isApplied)
            #expect(try await store.read(address).record?.payload == .native(.string("whole")))
        }

        /// The attributes that KeePassXC adds to every item.
        private static let keePassXC = [
            "Title": "N", "URL": "u", "UserName": "n", "Uuid": "0123456789abcdef0123456789abcdef", "Path": "/a", "Notes": "x",
        ]

        @Test(arguments: samples, KeyringProgram.allCases)
        func `the extra attributes of KeePassXC are accepted, and those of any other program are not`(
            sample: Sample, keeper: KeyringProgram
        ) async throws {
            let fixture = try await KeyringFixture(keeper)
            let store = fixture.store(sample.style)
            let (kept, foreign) = (StorageAddress("kim"), StorageAddress("lee"))
            func make(_ name: String, _ more: [String: String]) async throws {
                let attributes = filled(sample.written, name, fixture).merging(more) { own, _ in own }
                _ = try await fixture.secretTool(["store", "--label=x"] + attributes.arguments, input: "word")
            }
            try await make("kim", Self.keePassXC)
            try await make("lee", ["Title": "only a title"])
            #expect(try await store.read(kept).record?.payload == .native(.string("word")))
            #expect(try await store.read(foreign) == .absent)
            #expect(try await store.addresses(in: .values) == [kept])
            #expect(try await store.apply(.delete(kept)).isApplied)
            #expect(try await store.read(kept) == .absent)
        }

        @Test(arguments: KeyringProgram.allCases)
        func `an item of keyring-rs 2 or 3 with the default target is read, and other targets are not`(
            keeper: KeyringProgram
        ) async throws {
            let fixture = try await KeyringFixture(keeper)
            let rust = fixture.store(.keyringRS())
            for (name, target) in [("old", "default"), ("others", "work")] {
                let attributes = ["service": fixture.service, "username": name, "target": target]
                _ = try await fixture.secretTool(["store", "--label=x"] + attributes.arguments, input: name)
            }
            #expect(try await rust.read(StorageAddress("old")).record?.payload == .native(.string("old")))
            #expect(try await rust.read(StorageAddress("others")) == .absent)
            #expect(try await fixture.store(.goKeyring).read(StorageAddress("old")) == .absent)
            #expect(try await fixture.store(.keyringRS(target: "work")).read(StorageAddress("others")).record != nil)
        }

        @Test(arguments: KeyringProgram.allCases) func `names are listed in one fixed order`(keeper: KeyringProgram) async throws {
            let fixture = try await KeyringFixture(keeper)
            let store = fixture.store()
            for name in ["b", "a", "ä", "c", "B"] { #expect(try await store.apply(.put(.bytes([1]), at: StorageAddress(name))).isApplied) }
            #expect(try await store.addresses(in: .values).map(\.name) == ["B", "a", "b", "c", "ä"])
        }

        @Test func `stores have the same identity exactly if they lead to the same items`() throws {
            let fixture = try KeyringFixture()
            #expect(fixture.store(.goKeyring).identity == fixture.store(.pythonKeyring).identity)
            #expect(fixture.store(.goKeyring).identity == fixture.store(.keyringRS()).identity)
            #expect(fixture.store(.goKeyring).identity == fixture.store(.secretTool(name: "username")).identity)
            #expect(fixture.store(.goKeyring).identity != fixture.store(.keyringRS(target: "t")).identity)
            #expect(fixture.store(.goKeyring).identity != fixture.store(.goKeyring, service: "other").identity)
            #expect(fixture.store().identity == fixture.store().identity)
            #expect(fixture.store().identity != fixture.store(.secretTool()).identity)
            #expect(
                fixture.store(.secretTool(), service: "a;b").identity
                    != fixture.store(.secretTool(attributes: ["b": ""]), service: "a").identity)
        }

        @Test(arguments: KeyringProgram.allCases) func `a store in another style does not read an item in the LocalData format`(
            keeper: KeyringProgram
        ) async throws {
            let fixture = try await KeyringFixture(keeper)
            #expect(try await fixture.store().apply(.put(.bytes([1]), at: StorageAddress("zoe"))).isApplied)
            for sample in Self.samples {
                #expect(try await fixture.store(sample.style).read(StorageAddress("zoe")) == .absent, "\(sample.name)")
            }
        }

        @Test func `the LocalData format refuses native values`() async throws {
            let fixture = try KeyringFixture()
            guard case .failed(let error) = try await fixture.store().apply(.put(.native(.string("x")), at: StorageAddress("a"))) else {
                throw ProgramFailure("accepted")
            }
            #expect(error.code == .unsupported)
        }
    }
#endif
