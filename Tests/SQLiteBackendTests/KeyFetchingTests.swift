#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import Sealing
    import TestSupport
    import Testing

    /// Tests of a key source that does not answer.
    /// It delays only calls that need its key, and only until their deadline.
    @Suite(.inTurn) struct KeyFetchingTests {
        /// Makes a place whose database has one value.
        private func filledPlace() async throws -> Place {
            let place = try Place()
            let store = place.store()
            try await store.put("v", at: "name")
            await store.close()
            return place
        }

        @Test(.timeLimit(.minutes(10)))
        func `calls time out while the key source hangs, and the store works once it answers`() async throws {
            let place = try await filledPlace()
            let clock = ManualClock()
            let source = GatedSource(inner: place.keyFile())
            let store = place.store(source: source, deadline: .seconds(10), runtime: .live(clock: clock))
            async let reading = failure { () throws(BackendError) in try await store.read(StorageAddress("name")) }
            async let writing = failure { () throws(BackendError) in try await store.apply(.text("w", at: "name")) }
            async let listing = failure { () throws(BackendError) in try await store.addresses(in: .values) }
            // One call fetches the key, and all calls wait.
            // Each call schedules two deadlines: one for finding the file, and one for the key.
            await source.gate.arrived()
            await clock.untilScheduled(6)
            clock.advance(to: .seconds(10))
            for error in await [reading, writing, listing] {
                #expect(error?.code == .timedOut)
                #expect(error?.outcome == .notApplied)
            }
            source.gate.open()
            #expect(try await store.text("name") == "v")
            await store.close()
        }

        @Test(.timeLimit(.minutes(10))) func `the first change of a new database also times out at its deadline`() async throws {
            let place = try Place()
            let clock = ManualClock()
            let source = GatedSource(inner: place.keyFile())
            let store = place.store(source: source, deadline: .seconds(10), runtime: .live(clock: clock))
            async let writing = failure { () throws(BackendError) in try await store.apply(.text("w", at: "name")) }
            await source.gate.arrived()
            clock.advance(to: .seconds(10))
            #expect(await writing?.code == .timedOut)
            #expect(!place.exists)
            source.gate.open()
        }

        @Test(.timeLimit(.minutes(10))) func `a call has one deadline for all its steps`() async throws {
            let place = try await filledPlace()
            let clock = ManualClock()
            let source = GatedSource(inner: place.keyFile())
            let store = place.store(source: source, deadline: .seconds(10), runtime: .live(clock: clock))
            let lock = try PosixFileSystem().lock(place.lockPath) { true }
            async let writing = failure { () throws(BackendError) in try await store.apply(.text("w", at: "name")) }
            await source.gate.arrived()
            // Fetching the key takes most of the time. Waiting for the lock takes the rest.
            clock.advance(to: .seconds(9))
            source.gate.open()
            await clock.untilScheduled(4)
            clock.advance(to: .seconds(10))
            #expect(await writing?.code == .timedOut)
            lock.release()
            #expect(try await place.store().text("name") == "v")
        }

        @Test(.timeLimit(.minutes(10))) func `a cancelled call ends at once`() async throws {
            let place = try await filledPlace()
            let source = GatedSource(inner: place.keyFile())
            let store = place.store(source: source)
            let task = Task { await failure { () throws(BackendError) in try await store.read(StorageAddress("name")) } }
            await source.gate.arrived()
            task.cancel()
            #expect(await task.value?.code == .cancelled)
            source.gate.open()
        }

        @Test(.timeLimit(.minutes(10))) func `a hanging key source delays neither other databases nor work that needs no key`() async throws
        {
            let place = try await filledPlace()
            let other = try await filledPlace()
            let keys = SealingKeys(pins: .none, randomBytes: Runtime.live.randomBytes)
            let source = GatedSource(inner: place.keyFile())
            let store = place.store(source: source, keys: keys)
            let waiting = Task { try await store.text("name") }
            await source.gate.arrived()
            // As in one program, the second store shares the set of loaded keys with the first one. It has another key source.
            let second = other.store(keys: keys)
            #expect(try await second.text("name") == "v")
            try await second.put("w", at: "name")
            // A store on the same database, whose source answers.
            let third = place.store()
            try await third.put("third", at: "name")
            // Work on the lane that needs no key also ends.
            _ = try await store.synchronize()
            source.gate.open()
            #expect(try await waiting.value == "third")
        }

        @Test(.timeLimit(.minutes(10)))
        func `if a store is closed while its calls wait for the key, no call reports the existing value as absent`() async throws {
            let place = try await filledPlace()
            let clock = ManualClock()
            let source = GatedSource(inner: place.keyFile())
            let store = place.store(source: source, deadline: .seconds(10), runtime: .live(clock: clock))
            let address = StorageAddress("name")
            async let reading = store.read(address)
            async let deleting = store.apply(.delete(address, if: .revision(StorageRevision([1]))))
            async let listing = store.addresses(in: .values)
            await source.gate.arrived()
            await clock.untilScheduled(6)
            await store.close()
            source.gate.open()
            #expect(try await reading.text == "v")
            guard case .conflict(.value) = try await deleting else {
                Issue.record("\(try await deleting)")
                return
            }
            #expect(try await listing == [address])
            await store.close()
        }
    }
#endif
