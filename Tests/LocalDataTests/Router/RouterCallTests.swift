import LocalData
import TestSupport
import Testing

/// Keys with a default value, and keys without an owner (the part of a program that a key belongs to).
@Suite(.inTurn) struct RouterCallTests {
    private let router = StorageRouter(configuration: .inMemory())
    private let counter = StorageKey<Int>(name: "counter", domain: .userDefaults, defaultValue: 5)

    @Test func `an update of an absent value starts from the default of the key`() async throws {
        try await router.update(counter) { $0? += 1 }
        #expect(try await router.value(for: counter) == 6)
        try await router.update(counter) { $0 = nil }
        #expect(try await router.value(for: counter) == nil)
        try await router.update(counter, default: 10) { $0 += 1 }
        #expect(try await router.value(for: counter) == 11)
    }

    @Test func `a key without an owner has the owner of its catalog, and a blank owner is refused`() async throws {
        try await router.registerCatalog(TestCatalog(.key(counter)))
        #expect(try await router.audit().rows.map(\.owner) == ["Tests"])
        await expectRefusal(StorageError.incompleteKey) {
            let blank = StorageKey<Int>(name: "blank", domain: .userDefaults, owner: " ")
            try await router.registerCatalog(TestCatalog(.key(blank)))
        }
    }
}
