import LocalData

/// Makes calls of a program of some version, and writes down what it is told.
struct WindowCaller: Sendable {
    let scene: WindowScene
    let running: WindowScene.Running
    let turn: Turn

    private var router: StorageRouter { running.router }
    private var version: Int { running.version }
    private var diary: Diary<WindowDeed> { scene.machine.diary }

    func make(_ call: Call<WindowPlan.Verb>) async {
        let index = call.key % scene.keys.count
        if version == 1 { return await makeOlder(call.verb, index) }
        let key = scene.keys[index]
        let calls = key.calls
        let router = router
        let text = key.rules.isEnriched ? WindowModel.Rules.text(text(0), text(5)) : text(0)
        func isCalm() -> Bool { scene.isCalm(since: running) }
        switch call.verb {
        case .get:
            await diary.call([(index, .look)], by: version, label("get", index)) {
                do { return try await calls.get(router) as String? } catch StorageError.notFound { return nil }
            } _: {
                [.read($0)]
            }
        case .value:
            await diary.call([(index, .look)], by: version, label("value", index)) {
                try await calls.value(router)
            } _: {
                [.read($0)]
            }
        case .exists:
            await diary.call([(index, .look)], by: version, label("exists", index)) {
                try await calls.exists(router)
            } _: {
                [.exists($0)]
            }
        case .set:
            keepSecret(text)
            await diary.call([(index, .write(text, isCalm: false))], by: version, label("set \(text)", index)) {
                try await calls.set(router, text)
            } _: {
                [.write(text, isCalm: isCalm())]
            }
        case .update, .erase:
            let new = call.verb == .update ? text : nil
            if let new { keepSecret(new) }
            let kind = label(new.map { "update \($0)" } ?? "erase", index)
            await diary.call([(index, .swap(nil, new, isCalm: false))], by: version, kind) {
                try await calls.update(router, new)
            } _: { seen in
                seen == nil && new == nil ? [.read(nil)] : [.swap(seen, new, isCalm: isCalm())]
            }
        case .remove:
            await diary.call([(index, .write(nil, isCalm: false))], by: version, label("remove", index)) {
                try await calls.remove(router)
            } _: {
                [.write(nil, isCalm: isCalm())]
            }
        case .batch: await batch(index)
        case .force, .sweep, .plan, .release: await settle(call.verb, index)
        }
    }

    private func batch(_ index: Int) async {
        let changes = scene.keys.indices.map { key -> (key: Int, text: String?) in
            if key % 2 == turn.position % 2 { return (key, nil) }
            let isEnriched = scene.keys[key].rules.isEnriched
            return (key, isEnriched ? WindowModel.Rules.text(text(1 + key), text(6 + key)) : text(1 + key))
        }
        for case (_, let text?) in changes { keepSecret(text) }
        let deeds = changes.map { (key: $0.key, deed: WindowDeed.write($0.text, isCalm: false)) }
        await diary.call(deeds, by: version, label("batch \(changes.map { $0.text ?? "nothing" })", index)) {
            try await router.batch { batch in for (key, text) in changes { scene.keys[key].calls.change(&batch, text) } }
        } _: {
            let isCalm = scene.isCalm(since: running)
            return changes.map { .write($0.text, isCalm: isCalm) }
        }
    }

    private func settle(_ verb: WindowPlan.Verb, _ index: Int) async {
        let calls = scene.keys[index].calls
        let router = router
        switch verb {
        case .force:
            await diary.call([(index, .settle(isCalm: false))], by: version, label("force", index)) {
                try await calls.force(router).success
            } _: {
                [.settle(isCalm: $0 && scene.isCalm(since: running))]
            }
        case .release: await scene.release(running, index, label("release", index))
        case .plan:
            await diary.call([(index, .look)], by: version, label("plan", index)) {
                await router.planSweep().rows.count
            } _: { _ in
                [.look]
            }
        default: _ = await scene.sweep(running, label("sweep", index))
        }
    }

    /// What version 1 does: it knows the older place only.
    private func makeOlder(_ verb: WindowPlan.Verb, _ index: Int) async {
        guard let calls = scene.keys[index].older.calls else { return }
        let router = router
        let text = verb == .batch ? WindowScene.beginning(of: index) : text(0)
        switch verb {
        case .set, .batch, .force, .exists:
            keepSecret(text)
            await diary.call([(index, .older(text, isBare: false, isRepeated: false))], by: 1, label("set older \(text)", index)) {
                try await calls.set(router, text)
            } _: {
                [.older(text, isBare: false, isRepeated: false)]
            }
        case .update, .erase:
            let new = verb == .update ? text : nil
            if let new { keepSecret(new) }
            let kind = label(new.map { "update older \($0)" } ?? "erase older", index)
            await diary.call([(index, .olderSwap(nil, new))], by: 1, kind) {
                try await calls.update(router, new)
            } _: { seen in
                seen == nil && new == nil ? [.olderRead(nil)] : [.olderSwap(seen, new)]
            }
        case .remove:
            await diary.call([(index, .older(nil, isBare: false, isRepeated: false))], by: 1, label("remove older", index)) {
                try await calls.remove(router)
            } _: {
                [.older(nil, isBare: false, isRepeated: false)]
            }
        default:
            await diary.call([(index, .look)], by: 1, label("value older", index)) {
                try await calls.value(router)
            } _: {
                [.olderRead($0)]
            }
        }
    }

    private func text(_ number: Int) -> String { Marks.text(of: turn.first + number) }
    private func label(_ verb: String, _ index: Int) -> String { "\(verb) \(index) (\(turn.name))" }
    private func keepSecret(_ text: String) { scene.keepSecret(text) }
}
