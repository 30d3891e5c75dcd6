import BackendContract
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// References whose records are kept in another place than what refers to them.
extension ReferenceTests {
    @Test func `a record does not go where it would be protected less, or kept shorter, than within what held it`() async throws {
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

    @Test func `killed at any change, the record is there as soon as what refers to it is`() async throws {
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
                        // In the old shape it is not what this key reads.
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
