#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime
    import KeyringBackend
    import TestSupport
    import Testing

    /// Tests of the ways in which oo7-daemon differs from other services: it adds an attribute to every item, changes a
    /// secret only in memory, hides locked items, and removes items from its file by their attributes.
    @Suite(.slow("uses a simulated keyring"), .inTurn, .timeLimit(.minutes(5)), .tags(.keyring, .process))
    struct Oo7Tests {
        /// A version of oo7-daemon.
        enum Version: CaseIterable {
            /// An item replaces every item with at least its attributes: 0.6.0 and 0.7.0.alpha.
            case published
            /// An item replaces only items with equal attributes.
            case later

            var quirks: [SmallSecretService.Quirk] { self == .published ? [.oo7] : [.oo7, .exact] }
        }

        /// Every style.
        static let styles: [KeyringStyle] = [
            .localData, .secretTool(attributes: ["colour": "blue"]), .pythonKeyring, .goKeyring, .keyringRS(), .keyringRS(target: "T"),
        ]

        private func put(_ text: String, at address: StorageAddress, in store: SecretServiceStore) async throws {
            let result = try await store.apply(.put(.bytes(Array(text.utf8)), at: address))
            guard case .applied(_, .durable) = result else { throw ProgramFailure("not stored durably: \(result)") }
        }

        private func text(at address: StorageAddress, in store: SecretServiceStore) async throws -> String? {
            switch try await store.read(address) {
            case .value(let record):
                switch record.payload {
                case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
                case .native(.string(let text)): text
                case .native: nil
                }
            case .absent: nil
            case let other: throw ProgramFailure("not readable: \(other)")
            }
        }

        @Test(arguments: styles, Version.allCases) func `what was set, changed and removed stays so after oo7 is started again`(
            style: KeyringStyle, version: Version
        ) async throws {
            let service = try await SmallSecretService(version.quirks)
            let fixture = KeyringFixture(service)
            let store = fixture.store(style)
            let (kept, removed, fresh) = (StorageAddress("kept"), StorageAddress("removed"), StorageAddress("fresh"))
            for address in [kept, removed] { try await put("one", at: address, in: store) }
            #expect(try await text(at: kept, in: store) == "one")
            try await service.restart()
            try await put("two", at: kept, in: store)
            try await put("three", at: kept, in: store)
            #expect(try await store.apply(.delete(removed)) == .applied(nil, .durable))
            try await put("four", at: fresh, in: store)
            try await service.restart()
            #expect(try await text(at: kept, in: store) == "three")
            #expect(try await text(at: removed, in: store) == nil)
            #expect(try await store.addresses(in: .values) == [fresh, kept])
            #expect(try await service.items().count == 2)
            #expect(try await service.calls("SetSecret") == 0)
        }

        @Test(arguments: Version.allCases) func `a removal is still recorded after oo7 is started again`(version: Version) async throws {
            let service = try await SmallSecretService(version.quirks)
            let store = KeyringFixture(service).store()
            let address = StorageAddress("a")
            try await put("one", at: address, in: store)
            guard case .applied(let revision?, .durable) = try await store.apply(.tombstone(at: address)) else {
                throw ProgramFailure("no tombstone")
            }
            try await service.restart()
            #expect(try await store.read(address) == .tombstone(StorageTombstone(revision: revision)))
        }

        @Test(arguments: Version.allCases) func `a change that would take another program's item away is refused`(
            version: Version
        ) async throws {
            let service = try await SmallSecretService(version.quirks)
            let fixture = KeyringFixture(service)
            let store = fixture.store(.goKeyring)
            let address = StorageAddress("ann")
            try await put("ours", at: address, in: store)
            _ = try await service.add("theirs", ["service": fixture.service, "username": "ann", "target": "T"])
            #expect(try await text(at: address, in: store) == "ours")
            for mutation in [StorageMutation.put(.bytes(Array("new".utf8)), at: address), .delete(address)] {
                guard case .failed(let error) = try await store.apply(mutation) else { throw ProgramFailure("not refused: \(mutation)") }
                #expect(error.code == .ambiguous && error.outcome == .notApplied)
            }
            // The other program's item has all attributes and one more, so it is changed and deleted alone.
            let other = fixture.store(.keyringRS(target: "T"))
            try await put("changed", at: address, in: other)
            try await service.restart()
            #expect(try await text(at: address, in: store) == "ours")
            #expect(try await text(at: address, in: other) == "changed")
            #expect(try await other.apply(.delete(address)).isApplied)
            try await put("new", at: address, in: store)
            try await service.restart()
            #expect(try await text(at: address, in: store) == "new")
            #expect(try await service.items().count == 1)
        }

        @Test func `another program's item keeps its label and its further attributes when its text is changed`() async throws {
            let service = try await SmallSecretService([.oo7])
            let fixture = KeyringFixture(service)
            let attributes = ["service": fixture.service, "username": "ann"]
            let more = ["application": "Python keyring library", "xdg:schema": "org.example.Password"]
            _ = try await fixture.secretTool(["store", "--label=theirs"] + attributes.merging(more) { $1 }.arguments, input: "their word")
            try await put("our word", at: StorageAddress("ann"), in: fixture.store(.goKeyring))
            let items = try await service.items()
            #expect(items.map(\.attributes) == [attributes.merging(more) { $1 }.merging(KeyringProgram.oo7.added) { $1 }])
            #expect(items.map(\.secret) == ["our word"])
            let found = try await fixture.secretTool(["search"] + attributes.arguments)
            #expect((found.stdout + found.stderr).contains("label = theirs"))
        }

        @Test(arguments: Version.allCases) func `of the items that earlier releases made for one slot, the newest one counts`(
            version: Version
        ) async throws {
            let service = try await SmallSecretService(version.quirks)
            let store = KeyringFixture(service).store()
            let (changed, deleted) = (StorageAddress("changed"), StorageAddress("deleted"))
            for address in [changed, deleted] {
                try await put("the newest", at: address, in: store)
                let made = try #require(try await service.items().last)
                // Earlier releases did not find the item, and made one more for each change.
                for text in ["LD1:an older one", "LD1:another", made.secret] { _ = try await service.add(text, made.attributes) }
            }
            #expect(try await service.items().count == 8)
            try await service.restart()
            for address in [changed, deleted] { #expect(try await text(at: address, in: store) == "the newest") }
            #expect(try await store.items(deadline: SystemClock().now.advanced(by: .seconds(60))).map(\.name) == ["changed", "deleted"])
            try await put("new", at: changed, in: store)
            #expect(try await store.apply(.delete(deleted)).isApplied)
            for _ in 0..<2 {
                #expect(try await text(at: changed, in: store) == "new")
                #expect(try await text(at: deleted, in: store) == nil)
                #expect(try await service.items().count == 1)
                try await service.restart()
            }
        }

        @Test func `a locked collection is reported as locked, and can be unlocked`() async throws {
            let service = try await SmallSecretService([.oo7])
            let probe = try service.probe()
            try await probe.expect("put a one", "applied untilPowerLoss")
            try await service.tell("lock main")
            for command in ["get a", "get b", "put a two", "create b", "delete a"] { try await probe.expect(command, "locked") }
            for command in ["list", "names"] { try await probe.expect(command, "threw locked notApplied") }
            try await probe.expect("unlock", "unlocked")
            try await probe.expect("get a", "value one")
            try await probe.expect("get b", "absent")
            try await probe.expect("put a two", "applied untilPowerLoss")
            try await probe.expect("get a", "value two")
        }

        @Test func `values that were set aside and restored are there after oo7 is started again`() async throws {
            let service = try await SmallSecretService([.oo7])
            let probe = try service.probe()
            for name in ["a", "b"] { try await probe.expect("put \(name) one", "applied untilPowerLoss") }
            try await probe.expect("copy", "copied 2")
            try await probe.expect("set-aside", "moved")
            try await probe.expect("list", "list []")
            try await service.restart()
            try await probe.expect("put-back", "restored")
            try await service.restart()
            try await probe.expect("list", "list [\"a\", \"b\"]")
            try await probe.expect("get b", "value one")
        }

        @Test func `a change in oo7 causes a notification`() async throws {
            let service = try await SmallSecretService([.oo7])
            let (probe, other) = (try service.probe(), try service.probe())
            try await probe.expect("watch", "watching")
            for command in ["put a one", "put a two", "delete a"] {
                try await other.expect(command, "applied untilPowerLoss")
                try await probe.expect("change", "changed")
            }
        }
    }
#endif
