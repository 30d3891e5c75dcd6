#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime
    import KeyringBackend
    import TestSupport
    import Testing

    /// Tests of a keyring store. It keeps each record as an item whose secret is one line of text.
    /// A slot is a place for one record, with a name in a namespace. A tombstone is the record of a removal.
    @Suite(.slow("uses a real keyring"), .inTurn, .timeLimit(.minutes(10)), .tags(.keyring)) struct KeyringStoreTests {
        let fixture: KeyringFixture
        let store: SecretServiceStore

        init() throws {
            fixture = try KeyringFixture()
            store = fixture.store()
        }

        private func put(
            _ text: String, _ name: String, if precondition: StorageMutation.Precondition = .none
        ) async throws -> StorageRevision {
            let result = try await store.apply(.put(.bytes(Array(text.utf8)), at: StorageAddress(name), if: precondition))
            guard case .applied(let revision?, .durable) = result else { throw ProgramFailure("not stored: \(result)") }
            return revision
        }

        // MARK: The plain cases

        @Test func `a value is read back with its metadata and revision by this and another instance`() async throws {
            let metadata = StorageMetadata(serializer: "json", schemaVersion: 3, origin: [1, 2], createdAt: 4.5, attributes: ["a": "b"])
            let result = try await store.apply(.put(.bytes([0, 10, 255]), metadata, at: StorageAddress("a")))
            guard case .applied(let revision?, let durability) = result else { throw ProgramFailure("not stored: \(result)") }
            #expect(durability == .durable)
            let expected = StorageProbe.value(StorageRecord(payload: .bytes([0, 10, 255]), metadata: metadata, revision: revision))
            #expect(try await store.read(StorageAddress("a")) == expected)
            #expect(try await fixture.store().read(StorageAddress("a"), .fresh) == expected)
            #expect(await store.status() == .ready)
            #expect(try await store.synchronize() == .durable)
        }

        @Test func `deleting clears the slot, and deleting an absent value succeeds`() async throws {
            _ = try await put("one", "a")
            #expect(try await store.apply(.delete(StorageAddress("a"))) == .applied(nil, .durable))
            #expect(try await store.read(StorageAddress("a")) == .absent)
            #expect(try await store.apply(.delete(StorageAddress("a"))) == .applied(nil, .durable))
        }

        @Test func `a tombstone replaces the value and keeps its metadata`() async throws {
            _ = try await put("one", "a")
            let metadata = StorageMetadata(origin: [9])
            let result = try await store.apply(.tombstone(metadata, at: StorageAddress("a")))
            guard case .applied(let revision?, .durable) = result else { throw ProgramFailure("not stored: \(result)") }
            #expect(try await store.read(StorageAddress("a")) == .tombstone(StorageTombstone(metadata: metadata, revision: revision)))
            #expect(try await store.addresses(in: .values) == [StorageAddress("a")])
        }

        @Test func `a change applies only if its precondition holds`() async throws {
            let first = try await put("one", "a", if: .absent)
            let second = try await put("two", "a", if: .revision(first))
            for precondition in [StorageMutation.Precondition.absent, .revision(first)] {
                let result = try await store.apply(.put(.bytes([3]), at: StorageAddress("a"), if: precondition))
                guard case .conflict(.value(let record)) = result else { throw ProgramFailure("no conflict: \(result)") }
                #expect(record.revision == second)
            }
            #expect(try await store.apply(.delete(StorageAddress("a"), if: .revision(second))) == .applied(nil, .durable))
            let third = try await put("two", "a", if: .absent)
            #expect(third != second && third != first)
        }

        @Test func `a batch returns a result for every mutation, and a failed mutation stops no other`() async throws {
            _ = try await put("kept", "b")
            let results = try await store.apply([
                .put(.bytes([1]), at: StorageAddress("a")), .put(.bytes([2]), at: StorageAddress("b"), if: .absent),
                .put(.bytes([3]), at: StorageAddress("")), .tombstone(at: StorageAddress("c")), .delete(StorageAddress("d")),
            ])
            #expect(results.map(\.isApplied) == [true, false, false, true, true])
            let probes = try await store.read(["a", "b", "", "c", "d", "a"].map { StorageAddress($0) }, .fresh)
            #expect(probes[0].record?.payload == .bytes([1]))
            #expect(probes[1].record?.payload == .bytes(Array("kept".utf8)))
            guard case .unavailable(let error) = probes[2] else { throw ProgramFailure("an empty name was used") }
            #expect(error.code == .invalidName)
            guard case .tombstone = probes[3] else { throw ProgramFailure("no tombstone") }
            #expect(probes[4] == .absent)
            #expect(probes[5] == probes[0])
        }

        @Test func `one name in several namespaces and services is a separate slot in each of them`() async throws {
            let places = [
                StorageAddress("x"), StorageAddress("x", in: StorageNamespace("values")), StorageAddress("x", in: StorageNamespace("q")),
            ]
            for (index, place) in places.enumerated() {
                #expect(try await store.apply(.put(.bytes([UInt8(index)]), at: place, if: .absent)).isApplied)
            }
            for (index, place) in places.enumerated() {
                #expect(try await store.read(place).record?.payload == .bytes([UInt8(index)]))
                #expect(try await store.addresses(in: place.namespace) == [place])
            }
            #expect(try await fixture.store(service: fixture.service + "2").read(places[0]) == .absent)
        }

        // MARK: Names and sizes

        @Test func `an unusual name is a separate slot, and an invalid name is refused before anything is written`() async throws {
            let names = [
                "../../etc/passwd", "with space", "ключ", "🔑👩‍👩‍👧", "caf\u{E9}", "cafe\u{301}", "a=b;c\\d", "'\"%",
                String(repeating: "n", count: 1_024),
            ]
            for name in names { _ = try await put(name, name, if: .absent) }
            for name in names { #expect(try await store.read(StorageAddress(name)).record?.payload == .bytes(Array(name.utf8))) }
            #expect(Set(try await store.addresses(in: .values)) == Set(names.map { StorageAddress($0) }))
            for name in ["", "a\0b", "a\nb", String(repeating: "n", count: 10_240), "\u{FFFE}"] {
                guard case .failed(let error) = try await store.apply(.put(.bytes([1]), at: StorageAddress(name))) else {
                    throw ProgramFailure("a name was accepted")
                }
                #expect(error.code == .invalidName && error.outcome == .notApplied)
            }
        }

        @Test func `a service with an invalid name is refused`() async throws {
            for service in ["", "a\nb"] {
                let store = fixture.store(service: service)
                guard case .unavailable(let error) = try await store.read(StorageAddress("a")) else { throw ProgramFailure("it was used") }
                #expect(error.code == .invalidName)
            }
        }

        @Test(arguments: [0, 1, 65_536, SecretServiceStore.maximumValueSize]) func `a value of any size up to the limit is kept`(
            size: Int
        ) async throws {
            let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            #expect(try await store.apply(.put(.bytes(bytes), at: StorageAddress("a"))).isApplied)
            #expect(try await store.read(StorageAddress("a")).record?.payload == .bytes(bytes))
        }

        @Test func `a value larger than the limit is refused before anything is written`() async throws {
            _ = try await put("kept", "a")
            let bytes = [UInt8](repeating: 1, count: SecretServiceStore.maximumValueSize + 1)
            guard case .failed(let error) = try await store.apply(.put(.bytes(bytes), at: StorageAddress("a"))) else {
                throw ProgramFailure("it was accepted")
            }
            #expect(error.code == .tooLarge && error.outcome == .notApplied)
            #expect(try await store.read(StorageAddress("a")).record?.payload == .bytes(Array("kept".utf8)))
        }

        // MARK: Other writers

        @Test func `secret-tool finds the item with all its attributes, and its secret is one line without the readable value`()
            async throws
        {
            _ = try await put("a very secret value", "token")
            let found = try await fixture.secretTool(["search", "--all"] + fixture.attributes("token").arguments)
            let text = found.stdout + found.stderr
            #expect(text.contains("label = LocalData: \(fixture.service)/token"))
            #expect(text.contains("schema = org.localdata.Record"))
            for (name, value) in fixture.attributes("token") { #expect(text.contains("attribute.\(name) = \(value)")) }
            let secret = try await fixture.secretTool(["lookup"] + fixture.attributes("token").arguments).stdout
            #expect(secret.hasPrefix("LD1:") && !secret.contains("\n") && !secret.contains("a very secret value"))
        }

        @Test func `an item that another program wrote is read as a foreign value, even if its text has line breaks`() async throws {
            _ = try await fixture.secretTool(["store", "--label=x"] + fixture.attributes("a").arguments, input: "two\nlines")
            let probe = try await store.read(StorageAddress("a"))
            #expect(probe.record?.payload == .native(.string("two\nlines")))
            #expect(probe.record?.isForeign == true)
            let revision = try #require(probe.revision)
            #expect(try await store.read(StorageAddress("a")).revision == revision)
            let ours = try await put("ours", "a", if: .revision(revision))
            #expect(try await store.read(StorageAddress("a")).record?.revision == ours)
            #expect(try await store.addresses(in: .values) == [StorageAddress("a")])
        }

        @Test func `an item with a damaged line is reported and kept, and is replaced only by a change with its revision`() async throws {
            _ = try await put("one", "a")
            let line = try await fixture.secretTool(["lookup"] + fixture.attributes("a").arguments).stdout
            for damaged in [String(line.dropLast(5)), "LD1:", "LD1:????", String(line.dropLast(8)) + "AAAAAAAA"] {
                _ = try await fixture.secretTool(["store", "--label=x"] + fixture.attributes("a").arguments, input: damaged)
                let probe = try await store.read(StorageAddress("a"))
                guard case .corrupt(let corruption) = probe else { throw ProgramFailure("not seen as damaged: \(probe)") }
                #expect(corruption.bytes == Array(damaged.utf8))
                #expect(try await store.apply(.put(.bytes([1]), at: StorageAddress("a"))) == .conflict(probe))
                #expect(try await store.addresses(in: .values) == [StorageAddress("a")])
            }
            let probe = try await store.read(StorageAddress("a"))
            _ = try await put("new", "a", if: .revision(try #require(probe.revision)))
        }

        @Test func `an item whose creation was interrupted is corrupt, not empty and not absent`() async throws {
            var attributes = fixture.attributes("a")
            // gnome-keyring saves a new item twice.
            // A crash between the two saves leaves these attributes and an empty secret.
            attributes["xdg:schema"] = "org.localdata.Record"
            try await offPool { [fixture, attributes] in try fixture.keyring.createItem("", attributes) }
            let probe = try await store.read(StorageAddress("a"))
            guard case .corrupt(let corruption) = probe else { throw ProgramFailure("not seen as damaged: \(probe)") }
            #expect(corruption.bytes == [])
            #expect(try await store.apply(.put(.bytes([1]), at: StorageAddress("a"), if: .absent)) == .conflict(probe))
            _ = try await put("new", "a", if: .revision(try #require(corruption.revision)))
        }

        @Test func `duplicate items are ambiguous, and none of them is read, written or deleted`() async throws {
            _ = try await put("ours", "a")
            try await offPool { [fixture] in try fixture.keyring.createItem("theirs", fixture.attributes("a")) }
            guard case .unavailable(let error) = try await store.read(StorageAddress("a")) else { throw ProgramFailure("it was read") }
            #expect(error.code == .ambiguous && error.reason.contains("2 items"))
            let mutations: [StorageMutation] = [
                .put(.bytes([1]), at: StorageAddress("a")), .delete(StorageAddress("a")), .tombstone(at: StorageAddress("a")),
            ]
            for mutation in mutations {
                guard case .failed(let error) = try await store.apply(mutation) else { throw ProgramFailure("it was changed") }
                #expect(error.code == .ambiguous && error.outcome == .notApplied)
            }
            #expect(try await store.addresses(in: .values) == [StorageAddress("a")])
            let found = try await fixture.secretTool(["search", "--all"] + fixture.attributes("a").arguments)
            #expect(found.stdout.components(of: "secret = ") == 2 && found.stdout.contains("secret = theirs"))
        }

        @Test func `an item with extra attributes belongs to another program and is not read, overwritten or deleted`() async throws {
            var more = fixture.attributes("a")
            more["extra"] = "1"
            try await offPool { [fixture, more] in try fixture.keyring.createItem("theirs", more) }
            #expect(try await store.read(StorageAddress("a")) == .absent)
            #expect(try await store.addresses(in: .values) == [])
            _ = try await put("ours", "a", if: .absent)
            _ = try await put("ours again", "a")
            #expect(try await store.apply(.delete(StorageAddress("a"))).isApplied)
            #expect(try await fixture.secretTool(["lookup"] + more.arguments).stdout == "theirs")
        }

        // MARK: Leaving

        @Test func `a read by a cancelled task throws an error with the code cancelled and the outcome notApplied`() async throws {
            let task = Task { [store] () async -> BackendError? in
                withUnsafeCurrentTask { $0?.cancel() }
                do throws(BackendError) {
                    _ = try await store.read(StorageAddress("a"))
                    return nil
                } catch {
                    return error
                }
            }
            let error = await task.value
            #expect(error?.code == .cancelled && error?.outcome == .notApplied)
        }

        @Test func `a change waits until its deadline for a lock that another process holds, and then changes nothing`() async throws {
            _ = try await put("one", "a")
            let store = SecretServiceStore(
                service: fixture.service, lockFile: fixture.keyring.file("held.lock"), deadline: .milliseconds(300),
                keyringsDirectory: fixture.keyring.keyringsDirectory, connection: SecretServiceConnection(runtime: .live))
            let lock = try PosixFileSystem().lock(fixture.keyring.file("held.lock")) { true }
            await #expect(throws: BackendError.self) { try await store.apply(.put(.bytes([2]), at: StorageAddress("a"))) }
            lock.release()
            #expect(try await fixture.store().read(StorageAddress("a")).record?.payload == .bytes(Array("one".utf8)))
        }

        @Test func `a change is not reported as durable if the store does not know in which folder the daemon writes its files`()
            async throws
        {
            let elsewhere = try TemporaryDirectory()
            for directory in [elsewhere.path, elsewhere.file("missing"), nil] {
                let store = SecretServiceStore(
                    service: fixture.service, lockFile: fixture.keyring.file("locks/other.lock"), deadline: .seconds(30),
                    keyringsDirectory: directory)
                guard case .applied(_, .untilPowerLoss) = try await store.apply(.put(.bytes([1]), at: StorageAddress("a"))) else {
                    throw ProgramFailure("it was called durable")
                }
                #expect(try await store.synchronize() == .untilPowerLoss)
            }
        }
    }

    extension String {
        /// Returns the number of occurrences of a text.
        func components(of text: String) -> Int { ranges(of: text).count }
    }
#endif
