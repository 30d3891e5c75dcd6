import LocalData
import LocalDataBackup
import LocalDataTesting
import MemoryBackend

/// Cases of release windows, in which two releases of a program share a value, and of the upkeep of stores.
extension LostAnswerCase {
    // MARK: Release windows

    private static func window(_ keys: Keys) -> StorageKey<String> {
        keys.bare.moved(from: keys.old, keeping: .untilReleased, options: MigrationOptions(keepsWeakerCopy: true))
    }

    /// Stores a value in both locations, as in a release window. Then an older program changes the legacy location.
    private static func changedByOlder(_ machine: LostAnswerMachine, _ keys: Keys) async throws {
        try await machine.launch().router.set("new", for: window(keys))
        try await machine.launch().router.set("of the older release", for: keys.old)
    }

    /// Stores a value in both locations, as in a release window. Then an older program removes the value in the legacy
    /// location.
    private static func removedByOlder(_ machine: LostAnswerMachine, _ keys: Keys) async throws {
        try await machine.launch().router.set("new", for: window(keys))
        try await machine.launch().router.remove(keys.old)
    }

    static let windows = [
        value("get moves in a release window", older: true, prepare: pending) { _ = try await $0.get(window($1)) },
        value("set in a release window", older: true, prepare: pending) { try await $0.set("new", for: window($1)) },
        value("remove in a release window", older: true) { machine, keys in
            try await machine.launch().router.set("new", for: window(keys))
        } act: {
            try await $0.remove(window($1))
        },
        value("get takes what an older release wrote", older: true, prepare: changedByOlder) { _ = try await $0.get(window($1)) },
        value("update over what an older release wrote", older: true, prepare: changedByOlder) { router, keys in
            try await router.update(window(keys)) { $0 = ($0 ?? "") + "+" }
        },
        value("sweep takes what an older release wrote", older: true, prepare: changedByOlder) { router, keys in
            await router.sweep(TestCatalog([.key(window(keys))]))
        },
        value("sweep takes what an older release removed", older: true, prepare: removedByOlder) { router, keys in
            await router.sweep(TestCatalog([.key(window(keys))]))
        },
        value("end of a release window", older: true, prepare: changedByOlder) { router, keys in
            _ = try await router.endReleaseWindow(for: window(keys))
        },
    ]

    // MARK: Upkeep

    /// A value of a property list, sealed with a separate key.
    private static let sealed = StorageKey<String>(
        name: "sealed", domain: LostAnswerMachine.older, security: .encrypted, owner: "Tests", description: "A sealed value")

    static let upkeep = [
        LostAnswerCase(description: "a rotation seals a value again") { domain in
            Scene(
                destination: domain, watched: [ObservedSlot(sealed, mark: "mark")],
                prepare: { try await $0.launch().router.set("new", for: sealed) },
                act: { router in
                    _ = try await router.registerCatalog(TestCatalog([.key(sealed)]))
                    _ = try await router.rotateKey()
                })
        },
        damage("a damaged record is set aside") { try await $0.setAside($1) },
        damage("a damaged record is removed") { try await $0.removeDamaged($1) },
        LostAnswerCase(description: "a sweep drops the tombstones of a collection") { domain in
            let (old, notes) = (collection("old", LostAnswerMachine.older), collection("notes", domain))
            let moved = notes.moved(from: old)
            return Scene(
                destination: domain, watched: [record("a", of: notes), record("b", of: notes)],
                prepare: { machine in
                    let router = machine.launch().router
                    try await router.setEach([LostNote("a"), LostNote("b")], in: old)
                    _ = try await router.count(in: moved)
                    for id in ["a", "b"] { try await router.remove(id, in: moved) }
                }, act: { await $0.sweep(TestCatalog([.collection(moved)])) })
        }.withAtomicCommits,
    ]

    /// A case of a record whose bytes are damaged.
    private static func damage(
        _ description: String, act: @escaping @Sendable (StorageRouter, DamagedRecord) async throws -> Void
    ) -> LostAnswerCase {
        LostAnswerCase(description: description) { domain in
            let notes = collection("notes", domain)
            let slot = record("a", of: notes)
            return Scene(
                destination: domain, watched: [slot],
                prepare: { machine in
                    try await machine.launch().router.set(LostNote("a"), in: notes)
                    machine.medium(of: domain).corrupt(slot.address, bytes: [1, 2, 3])
                },
                act: { router in
                    let report = DamagePolicy.report { record, _ in try await act(router, record) }
                    for try await _ in router.records(in: notes, onDamage: report) {}
                })
        }
    }
}
