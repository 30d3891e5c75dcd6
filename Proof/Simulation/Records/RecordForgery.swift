import BackendContract
import LocalData

/// Forges metadata of a sealed (encrypted) value at the end of a run. An attacker needs no key for this. The forgery
/// changes the expiry, version, type or serializer.
///
/// The library must not trust forged metadata. A read must return the original value or report damage, but never
/// absence. No sweep, which migrates and purges values, may remove the value. Setting a new value under its name must
/// succeed.
struct RecordForgery: Sendable {
    let act: Act<StoredRecords>
    let scene: RecordScene

    private var machine: Machine<StoredRecords> { scene.machine }
    private var place: String { scene.shape.place }

    private static let forgeries: [(name: String, change: @Sendable (inout StorageMetadata) -> Void)] = [
        ("expiry", { $0.expiresAt = 1 }), ("version", { $0.schemaVersion = 99 }), ("type", { $0.typeTag = "Forged" }),
        ("serializer", { $0.serializer = "data" }),
    ]

    /// Picks a value and a forgery at random, and checks what the library does.
    func judge(_ last: RecordScene.Running) async throws {
        guard act.plan.place == .sealed, !act.plan.isSpoilt else { return }
        var values: [(record: Int, text: String)] = []
        for record in 0..<act.plan.count {
            if let text = try await last.program.records[record].value(last.router) { values.append((record, text)) }
        }
        guard !values.isEmpty else { return }
        let (record, text) = values[machine.world.draw(values.count)]
        let address = scene.shape.address(record)
        guard case .value(let payload, var metadata, let isForeign)? = machine.disk.contents(of: place)[address], metadata.sealing != nil
        else { return }
        let forgery = Self.forgeries[machine.world.draw(Self.forgeries.count)]
        forgery.change(&metadata)
        machine.diary.add(-1, .launch(act.plan.kind.latest), "somebody forges the \(forgery.name) of record \(record)")
        machine.disk.plant(.value(payload, metadata, isForeign: isForeign), in: place, at: address)

        let program = await scene.launch("after the forgery", version: act.plan.kind.latest)
        let calls = program.program.records[record]
        do {
            let found = try await calls.value(program.router)
            guard found == text else {
                throw act.violation(.order, "beside a forged \(forgery.name), record \(record) is \(found ?? "nothing") and not \(text)")
            }
        } catch is StorageError {
            // The library reports damage, which is allowed.
        }
        // The first sweep finds an expired value, and a sweep one day later removes it. So two sweeps would remove a
        // value whose forged expiry was trusted.
        for _ in 0..<2 {
            _ = await program.router.sweep(program.catalog)
            machine.world.sleep(seconds: 90_000)
        }
        guard case .value(payload, _, _)? = machine.disk.contents(of: place)[address] else {
            throw act.violation(.unseen, "a sweep took record \(record) away, whose \(forgery.name) was forged")
        }
        do { try await calls.set(program.router, text) } catch let error as StorageError {
            throw act.violation(.liveness, "a forged \(forgery.name) keeps record \(record) from being set: \(error.code)")
        }
        guard try await calls.value(program.router) == text else {
            throw act.violation(.order, "record \(record) was set after its \(forgery.name) was forged, and is not there")
        }
    }
}
