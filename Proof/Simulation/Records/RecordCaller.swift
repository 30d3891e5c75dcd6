import LocalData

/// Makes the calls of one program, and adds them with their answers to the log.
struct RecordCaller: Sendable {
    let scene: RecordScene
    let running: RecordScene.Running
    let turn: Turn

    private var diary: CallLog<RecordDeed> { scene.machine.diary }
    private var plan: RecordPlan { scene.plan }
    /// Whether the program knows only the legacy location.
    private var isOlder: Bool { plan.kind.hasOlder && running.version == 1 }

    func make(_ call: Call<RecordPlan.Verb>) async {
        let record = call.key % plan.count
        let (router, version) = (running.router, running.version)
        let calls = running.program.records[record]
        let text = Marks.text(of: turn.first)
        let lifetime = plan.lifetime.map(Double.init)
        func label(_ verb: String) -> String { "\(verb) \(record) (\(turn.name))" }
        var verb = call.verb
        if isOlder {
            if [.set, .update, .erase, .remove, .setMany].contains(verb), !scene.mayChangeOlder() { return }
            return await makeOlder(verb, record, calls, text, lifetime, label)
        }
        if [.set, .update, .setMany].contains(verb) { scene.keepSecret(text) }
        if running.program.carry == nil, verb == .carry { verb = .sweep }
        if running.program.all == nil, verb == .all { verb = .value }
        switch verb {
        case .value:
            await diary.call([(record, .read(nil))], by: version, isLook: true, label("value")) {
                try await calls.value(router)
            } _: {
                [.read($0)]
            }
        case .exists:
            await diary.call([(record, .exists(false))], by: version, isLook: true, label("exists")) {
                try await calls.exists(router)
            } _: {
                [.exists($0)]
            }
        case .set:
            await diary.call([(record, .write(text, lifetime: lifetime))], by: version, label("set \(text)")) {
                try await calls.set(router, text)
            } _: {
                [.write(text, lifetime: lifetime)]
            }
        case .update, .erase:
            let new = verb == .update ? text : nil
            await diary.call([(record, .swap(nil, new, lifetime: lifetime))], by: version, label(new.map { "update \($0)" } ?? "erase")) {
                try await calls.update(router, new)
            } _: { seen in
                seen == nil && new == nil ? [.read(nil)] : [.swap(seen, new, lifetime: lifetime)]
            }
        case .remove:
            await diary.call([(record, .write(nil, lifetime: nil))], by: version, label("remove")) {
                try await calls.remove(router)
            } _: {
                [.write(nil, lifetime: nil)]
            }
        case .setMany:
            let texts = (0..<plan.count).filter { $0 % 2 == turn.position % 2 || $0 == record }.map {
                (record: $0, text: Marks.text(of: turn.first + 1 + $0))
            }
            for (_, text) in texts { scene.keepSecret(text) }
            let deeds = texts.map { (key: $0.record, deed: RecordDeed.write($0.text, lifetime: lifetime)) }
            await diary.call(deeds, by: version, "setMany \(texts.map { "\($0.record): \($0.text)" }) (\(turn.name))") {
                try await running.program.setMany?(router, texts)
            } _: { _ in
                deeds.map(\.deed)
            }
        case .sweep:
            await diary.call([], by: version, isLook: true, label("sweep")) {
                await router.sweep(running.catalog).isComplete
            } _: { _ in
                nil
            }
        case .carry: await carry()
        case .all:
            let deeds = (0..<plan.count).map { (key: $0, deed: RecordDeed.listed(nil)) }
            await diary.call(deeds, by: version, isLook: true, label("all")) {
                try await running.program.all?(router) ?? []
            } _: { found in
                for (id, count) in Dictionary(grouping: found, by: \.id).mapValues(\.count) where count > 1 {
                    scene.fail("\(id) was met \(count) times")
                }
                return (0..<plan.count).map { number in .listed(found.first { $0.id == RecordShape.id(number) }?.text) }
            }
        }
    }

    /// Calls the library's migration of all records, if the program of this version has one.
    func carry() async {
        guard let carry = running.program.carry else { return }
        // If one record cannot be migrated, the call must leave all of them unchanged.
        if !plan.isSpoilt { diary.add(-1, .mayMove, "\(turn.name) is about to bring everything over") }
        let deeds = (0..<plan.count).map { (key: $0, deed: RecordDeed.carried) }
        await diary.call(deeds, by: running.version, "carry (\(turn.name))") { [plan, scene] in
            let count = try await carry(running.router)
            if plan.isSpoilt { scene.fail("everything was brought over, with a record that cannot be") }
            return count
        } _: { (_: Int) in
            deeds.map(\.deed)
        }
    }

    private func makeOlder(
        _ verb: RecordPlan.Verb, _ record: Int, _ calls: RecordCalls, _ text: String, _ lifetime: Double?, _ label: (String) -> String
    ) async {
        let router = running.router
        func change(_ text: String?, _ kind: String, _ body: () async throws -> Void) async {
            await diary.call([(record, .older(text, lifetime: lifetime))], by: 1, label(kind)) {
                try await body()
            } _: {
                [.older(text, lifetime: lifetime)]
            }
        }
        switch verb {
        case .set, .update, .setMany: await change(text, "set older \(text)") { try await calls.set(router, text) }
        case .remove, .erase: await change(nil, "remove older") { try await calls.remove(router) }
        case .sweep:
            await diary.call([], by: 1, isLook: true, label("sweep")) {
                await router.sweep(running.catalog).isComplete
            } _: { _ in
                nil
            }
        default:
            await diary.call([], by: 1, isLook: true, label("value older")) {
                try await calls.value(router)
            } _: { _ in
                nil
            }
        }
    }
}
