import LocalData

/// Makes the calls of a program of some version and records their answers.
struct WindowCaller: Sendable {
    let scene: WindowScene
    let running: WindowScene.Running
    let turn: Turn

    private var router: StorageRouter { running.router }
    private var version: Int { running.version }

    func make(_ call: Call<WindowPlan.Verb>) async {
        let index = call.key % scene.keys.count
        guard let calls = scene.keys[index].calls[version] else { return }
        let router = router
        func isCalm() -> Bool { scene.isCalm(since: running) }
        switch verb(of: call) {
        case .get:
            await self.call([(index, .look)], "get", index) {
                do { return try await calls.get(router) as String? } catch StorageError.notFound { return nil }
            } _: {
                [.read($0)]
            }
        case .value:
            await self.call([(index, .look)], "value", index) {
                try await calls.value(router)
            } _: {
                [.read($0)]
            }
        case .exists:
            await self.call([(index, .look)], "exists", index) {
                try await calls.exists(router)
            } _: {
                [.exists($0)]
            }
        case .set:
            // Version 1 makes a set instead of a batch. It writes the initial content again, so that a new content can
            // equal an old one.
            let text = call.verb == .batch ? WindowScene.beginning(of: index) : text(0, of: index)
            await self.call([(index, .write(text, isCalm: false))], "set \(text)", index) {
                try await calls.set(router, text)
            } _: {
                [.write(text, isCalm: isCalm())]
            }
        case .update, .erase:
            let new = call.verb == .update ? text(0, of: index) : nil
            await self.call([(index, .swap(nil, new, isCalm: false))], new.map { "update \($0)" } ?? "erase", index) {
                try await calls.update(router, new)
            } _: { seen in
                seen == nil && new == nil ? [.read(nil)] : [.swap(seen, new, isCalm: isCalm())]
            }
        case .remove:
            await self.call([(index, .write(nil, isCalm: false))], "remove", index) {
                try await calls.remove(router)
            } _: {
                [.write(nil, isCalm: isCalm())]
            }
        case .batch: await batch(index)
        case .force:
            await self.call([(index, .settle(isCalm: false))], "force", index) {
                try await calls.force(router).isSuccess
            } _: {
                [.settle(isCalm: $0 && isCalm())]
            }
        case .release: await scene.release(running, index, label("release", index))
        case .sweep: _ = await scene.sweep(running, label("sweep", index))
        case .plan:
            await self.call([(index, .look)], "plan", index) {
                await router.planSweep().rows.count
            } _: { _ in
                [.look]
            }
        }
    }

    /// The verb that a program uses for a planned call. Version 1 replaces verbs that it does not support by `set` or
    /// `value`.
    private func verb(of call: Call<WindowPlan.Verb>) -> WindowPlan.Verb {
        guard version == 1 else { return call.verb }
        return switch call.verb {
        case .force, .exists, .batch: .set
        case .get, .plan, .sweep, .release: .value
        default: call.verb
        }
    }

    private func batch(_ index: Int) async {
        let changes = scene.keys.indices.map { key in
            (key: key, text: key % 2 == turn.position % 2 ? nil : text(1 + key, of: key))
        }
        let router = router
        let deeds = changes.map { (key: $0.key, deed: WindowDeed.write($0.text, isCalm: false)) }
        await call(deeds, "batch \(changes.map { $0.text ?? "nothing" })", index) {
            try await router.batch { batch in
                for (key, text) in changes { scene.keys[key].calls[version]?.change(&batch, text) }
            }
        } _: {
            let isCalm = scene.isCalm(since: running)
            return changes.map { .write($0.text, isCalm: isCalm) }
        }
    }

    private func call<R: Sendable>(
        _ deeds: [(key: Int, deed: WindowDeed)], _ verb: String, _ index: Int, _ body: () async throws -> R, _ made: (R) -> [WindowDeed]
    ) async {
        for (_, deed) in deeds { if let text = deed.written { scene.keepSecret(text) } }
        await scene.machine.diary.call(deeds, by: version, label(verb, index), body, made)
    }

    /// Returns a text that the program writes. The text contains the number of the call's first text, plus `number`. If
    /// this version knows a second part of the value, the text has this part, too.
    private func text(_ number: Int, of index: Int) -> String {
        func mark(_ number: Int) -> String { Marks.text(of: turn.first + number) }
        let isEnriched = scene.keys[index].rules.isEnriched && version > 1
        return isEnriched ? WindowModel.Rules.text(mark(number), mark(number + 5)) : mark(number)
    }

    private func label(_ verb: String, _ index: Int) -> String { "\(verb) \(index) (\(turn.name))" }
}
