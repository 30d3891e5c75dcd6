import LocalData
import LocalDataBackup

/// Makes the calls of a program and records their answers.
struct Caller: Sendable {
    let scene: Scene
    let program: Scene.Running
    let turn: Turn

    private var router: StorageRouter { program.router }
    private var diary: CallLog<ValueDeed> { scene.machine.diary }

    func make(_ call: Call<ValuePlan.Verb>) async {
        let index = call.key % scene.moving.count
        let moving = scene.moving[index]
        if program.plan.isOlder { return await makeOlder(call.verb, index) }
        let text = Marks.text(of: turn.first)
        if !moving.spot.medium.hasPrefix("userDefaults") || scene.plan.kind == .sealed { scene.machine.keepSecret(text) }
        let calls = moving.calls
        let isHeldBack = program.plan.isHeldBack
        func read(_ value: String?) -> ValueDeed { isHeldBack ? .readHeldBack(value) : .read(value) }
        func label(_ verb: String) -> String { "\(verb) \(index) (\(turn.name))" }
        switch call.verb {
        case .get:
            await diary.look(
                index, label("get"),
                {
                    do { return try await calls.get(router) as String? } catch StorageError.notFound { return nil }
                }, read)
        case .value: await diary.look(index, label("value"), { try await calls.value(router) }, read)
        case .set:
            await diary.change([(index, .write(text))], label("set \(text)")) {
                try await calls.set(router, text)
                return nil
            }
        case .update, .erase:
            let new = call.verb == .update ? text : nil
            await diary.change(
                [(index, .write(new))], label(new.map { "update \($0)" } ?? "erase"), { try await calls.update(router, new) }
            ) { seen in
                seen == nil && new == nil ? [read(nil)] : [.swap(seen, new, isHeldBack: isHeldBack)]
            }
        case .remove:
            await diary.change([(index, .write(nil))], label("remove")) {
                try await calls.remove(router)
                return nil
            }
        case .exists:
            let isPlain = scene.plan.beginnings[index] != .undecodable
            await diary.look(index, label("exists"), { try await calls.exists(router) }, { isPlain ? .exists($0) : nil })
        case .force: await diary.look(index, label("force"), { try await calls.force(router).isSuccess }, { _ in nil })
        case .sweep: await diary.look(index, label("sweep"), { await router.sweep(scene.currentKeys).isComplete }, { _ in nil })
        case .plan: await diary.look(index, label("plan"), { await router.planSweep().rows.count }, { _ in nil })
        case .rotate:
            // The answer is not recorded: a rotation seals values with a new key, but must not change any of them.
            let source = Shape.keySource
            await diary.look(index, label("rotate"), { try await router.rotateKey(of: source).values }, { _ in nil })
        case .batch:
            let others = scene.moving.indices.filter { scene.moving[$0].spot.medium == moving.spot.medium }
            let changes = others.map { (key: $0, text: $0 % 2 == turn.position % 2 ? nil : Marks.text(of: turn.first + 1 + $0)) }
            for case (_, let text?) in changes where !moving.spot.medium.hasPrefix("userDefaults") || scene.plan.kind == .sealed {
                scene.machine.keepSecret(text)
            }
            await diary.change(changes.map { ($0.key, .write($0.text)) }, label("batch \(changes.map { $0.text ?? "nothing" })")) {
                try await router.batch { batch in for (key, text) in changes { scene.moving[key].calls.change(&batch, text) } }
                return nil
            }
        }
    }

    /// Makes a call of an older version of the program, which uses only the legacy location.
    private func makeOlder(_ verb: ValuePlan.Verb, _ index: Int) async {
        let moving = scene.moving[index]
        guard let place = moving.older.firstIndex(where: { $0.calls != nil }), let calls = moving.older[place].calls else { return }
        let spot = moving.older[place].spot
        let text = verb == .batch ? Scene.beginning(of: index, place) : Marks.text(of: turn.first)
        func label(_ verb: String) -> String { "\(verb) older \(index) (\(turn.name))" }
        func deeds(_ value: String?) -> [(key: Int, deed: ValueDeed)] {
            if moving.rules.isInPlace { return [(index, .write(value))] }
            return scene.moving.enumerated().flatMap { number, other in
                other.older.enumerated().compactMap { place, older -> (key: Int, deed: ValueDeed)? in
                    if older.spot == spot { return (number, value == nil && moving.isChain ? .olderRemoved(place) : .older(place, value)) }
                    return value == nil && moving.isChain && number == index ? (number, .older(place, nil)) : nil
                }
            }
        }
        let changes = [.set, .update, .batch, .remove, .erase].contains(verb) && (moving.rules.isInPlace || scene.mayChange(spot))
        switch verb {
        case .set where changes, .update where changes, .batch where changes:
            if moving.rules.isInPlace, !spot.medium.hasPrefix("userDefaults") { scene.machine.keepSecret(text) }
            scene.keepOlderSecret(text, in: spot)
            await diary.change(deeds(text), label("set \(text)")) {
                try await calls.set(router, text)
                return nil
            }
        case .remove where changes, .erase where changes:
            await diary.change(deeds(nil), label("remove")) {
                try await calls.remove(router)
                return nil
            }
        default: await diary.look(index, label("value"), { try await calls.value(router) }, { _ in nil })
        }
    }
}
