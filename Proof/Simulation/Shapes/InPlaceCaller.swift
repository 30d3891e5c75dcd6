import LocalData

/// Makes calls of a program of some version, and writes down what it is told.
struct InPlaceCaller: Sendable {
    let scene: InPlaceScene
    let running: InPlaceScene.Running
    let turn: Turn

    private var router: StorageRouter { running.router }
    private var version: Int { running.version }
    private var diary: Diary<InPlaceDeed> { scene.machine.diary }
    private var reader: InPlaceModel.Reader { scene.readers[version] ?? InPlaceModel.Reader(newest: 1) }

    func make(_ call: Call<InPlacePlan.Verb>) async {
        let index = call.key % scene.keys.count
        guard let calls = scene.keys[index].calls[version] else { return }
        let router = router
        switch call.verb {
        case .get:
            await read("get", index) { do { return try await calls.get(router) } catch StorageError.notFound { return nil } }
        case .value: await read("value", index) { try await calls.value(router) }
        case .exists:
            await diary.call([(index, .look)], by: version, label("exists", index)) {
                try await calls.exists(router)
            } _: {
                [.exists($0)]
            }
        case .set:
            let text = text(0)
            await self.call([(index, .write(text))], "set \(text)", index) {
                try await calls.set(router, text)
            } _: {
                [.write(text)]
            }
        case .update, .erase:
            let new = call.verb == .update ? text(0) : nil
            await self.call([(index, .swap(nil, new))], new.map { "update \($0)" } ?? "erase", index) {
                try await calls.update(router, new)
            } _: {
                $0 == nil && new == nil ? [.read(nil)] : [.swap($0, new)]
            }
        case .remove:
            await self.call([(index, .write(nil))], "remove", index) {
                try await calls.remove(router)
            } _: {
                [.write(nil)]
            }
        case .batch: await batch(index)
        case .force where reader.newest > 1:
            await diary.call([(index, .settle(ends: false, isRead: false))], by: version, label("force", index)) {
                try await calls.force(router).success
            } _: { _ in
                [.settle(ends: false, isRead: false)]
            }
        case .release where reader.newest > 1: await scene.release(running, index, label("release", index))
        case .sweep where reader.newest > 1: _ = await scene.sweep(running, label("sweep", index))
        case .force, .release, .sweep: await read("value", index) { try await calls.value(router) }
        case .plan:
            await diary.call([(index, .look)], by: version, label("plan", index)) {
                await router.planSweep().rows.count
            } _: { _ in
                [.look]
            }
        }
    }

    private func read(_ verb: String, _ index: Int, _ look: @Sendable () async throws -> String?) async {
        await call([(index, .look)], verb, index, look) { [.read($0)] }
    }

    /// A call that may bring the value to the shape of the program on its way.
    private func call<R: Sendable>(
        _ deeds: [(key: Int, deed: InPlaceDeed)], _ verb: String, _ index: Int, _ body: () async throws -> R, _ made: (R) -> [InPlaceDeed]
    ) async {
        for case (_, .write(let text?)) in deeds { scene.keepSecret(text) }
        for case (_, .swap(_, let text?)) in deeds { scene.keepSecret(text) }
        if !reader.keepsOlder, reader.newest > 1 {
            // It may, whatever becomes of the call.
            _ = diary.begin(deeds.map { ($0.key, .settle(ends: false, isRead: true)) }, by: version, label("conversion", index))
        }
        await diary.call(deeds, by: version, label(verb, index), body, made, refused: cover)
    }

    private func cover(_ refusal: InPlaceDeed) {
        if case .refusedVersion = refusal { scene.hit(.refusedVersion) } else { scene.hit(.refusedShape) }
    }

    private func batch(_ index: Int) async {
        let changes = scene.keys.indices.map { key -> (key: Int, text: String?) in
            (key, key % 2 == turn.position % 2 ? nil : text(2 * key))
        }
        let router = router
        await call(changes.map { ($0.key, .write($0.text)) }, "batch \(changes.map { $0.text ?? "nothing" })", index) {
            try await router.batch { batch in
                for (key, text) in changes { scene.keys[key].calls[version]?.change(&batch, text) }
            }
        } _: {
            changes.map { .write($0.text) }
        }
    }

    /// A value with as many parts as the program knows: where nothing is kept beside an older shape, most have nothing that it does not tell.
    private func text(_ number: Int) -> String {
        let isWhole = scene.plan.stores.keepsBeside ? turn.position % 4 == 3 : turn.position % 3 != 2
        let first = turn.first + number
        let more = (1..<3).map { isWhole ? InPlaceModel.nothing : Marks.text(of: first + 4 * $0) }
        return InPlaceModel.text(Array(([Marks.text(of: first)] + more).prefix(reader.newest)))
    }

    private func label(_ verb: String, _ index: Int) -> String { "\(verb) \(index) (\(turn.name))" }
}
