import BackendContract
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// References to records that are stored in another domain than the values that refer to them.
extension ReferenceTests {
    @Test func `a record inside a keyring value is not moved to a collection in a property list, which protects less`() async throws {
        let machine = TestMachine()
        let source = testKey("sam", .keychain, of: OldPerson.self)
        try await Person.place.withValue(.userDefaults(suite: "people")) {
            try await machine.launch().set(sam, for: source)
            let evolving = testKey("sam", .keychain, of: Person.self).evolving(Self.chain)
            await #expect { try await machine.launch().get(evolving) } throws: { StorageError.weakerProtection ~= $0 }
            #expect(try await machine.launch().get(source) == sam)
            #expect(try await machine.launch().value("Nick", in: Person.collection) == nil)
        }
    }

    @Test func `after a crash at any commit, a converted value never refers to a record that is missing`() async throws {
        let domain = StorageDomain.userDefaults(suite: "notes")
        let old = testKey("sam", domain, of: OldPerson.self)
        let stored = testKey("sam", domain, of: StoredDocument.self).version(2)
        let new = testKey("sam", domain, of: Person.self).evolving(Self.chain)
        for other in [domain, .userDefaults(suite: "people")] {
            try await Person.place.withValue(other) {
                var kills = 0
                for fault in [StorageFault.stop, .stopAfterwards] {
                    for (faulty, number) in [(domain, 1), (domain, 2), (other, 1), (other, 2)] {
                        let machine = TestMachine()
                        try await machine.launch().set(sam, for: old)
                        let router = machine.launch()
                        _ = try? await router.value(for: testKey("x", faulty, of: Int.self))
                        for backend in machine.backends(of: faulty) { backend.inject(fault, at: number, of: .apply) }
                        do { _ = try await router.get(new) } catch { kills += 1 }
                        machine.cut()
                        let next = machine.launch()
                        // This key reads only version 2, so the result is nil while the value has version 1.
                        if (try? await next.value(for: stored)) != nil {
                            #expect(try await next.value("Nick", in: Person.collection) == nick, "\(fault) \(faulty) \(number)")
                        }
                        #expect(try await next.resolve(try await next.get(new).brother) == nick, "\(fault) \(faulty) \(number)")
                    }
                }
                #expect(kills >= 4)
            }
        }
    }
}
