import BackendContract
import Foundation
import LocalData
import TestSupport

/// Checks whether a run kept all rules. It uses a program of the latest version, after every store can be reached
/// again.
struct RecordVerdict: Sendable {
    let act: Act<StoredRecords>
    let scene: RecordScene
    let begins: [RecordModel]

    private var machine: Machine<StoredRecords> { scene.machine }
    private var plan: RecordPlan { act.plan }
    private var shape: RecordShape { scene.shape }

    private static let sweeps = 6

    func reach() async throws {
        if plan.kind.expires { machine.diary.setClock(wrongBy: 0) }
        machine.diary.add(-1, .launch(plan.kind.latest), "the last program starts")
        let last = await scene.launch("last", version: plan.kind.latest)
        let before = machine.disk.picture(without: ["own ledger"])
        await RecordCaller(scene: scene, running: last, turn: Turn(name: "last.0", position: 0, first: 0)).carry()
        if let failure = scene.failure { throw act.violation(.order, failure) }
        if plan.isSpoilt, machine.disk.picture(without: ["own ledger"]) != before {
            throw act.violation(.order, "one record could not be brought over, and others were changed")
        }
        try await sweep(last)
        // Values that expire are left out here: they may have expired without being removed yet, and their legacy
        // copies stay as well.
        if !plan.kind.expires { try judgePlaces() }
        let values = try await finalValues(last)
        try await judgeQueries(last, values)
        if plan.isDamaged { try judgeDamage() }
        if let leak = machine.leak { throw act.violation(.secrecy, leak) }
        try await judgeUnseen(last, values)
        try await judgeBackups(last, values)
        // Each value must expire at its time, so read the values several times before the longest lifetime has passed.
        if let lifetime = plan.lifetime {
            for _ in 0..<3 {
                machine.world.sleep(seconds: lifetime / 3)
                _ = try await finalValues(last)
            }
        }
        try judgeOrder()
        if plan.kind.expires { try await judgePurge(last) }
        try await RecordForgery(act: act, scene: scene).judge(last)
    }

    /// Requires that every value is gone a day after it expired. The first sweep finds it expired, and a sweep one day
    /// later removes it.
    private func judgePurge(_ last: RecordScene.Running) async throws {
        // The last value may have been set while the clock was wrong. So the first sleep is longer than the largest
        // error of the clock.
        for seconds in [401 * 86_400, 90_000] {
            machine.world.sleep(seconds: seconds)
            try await sweep(last)
        }
        for place in [shape.place, shape.olderPlace] {
            let held = machine.disk.contents(of: place).filter { if case .value = $0.value { true } else { false } }
            if let first = held.map(\.key.name).min() {
                throw act.violation(.liveness, "\(first) is still stored in \(place), a day after its time")
            }
        }
    }

    private func sweep(_ last: RecordScene.Running) async throws {
        var report = MigrationReport()
        var isIdle = false
        for _ in 0..<Self.sweeps where !isIdle || !isOver(report) {
            let before = machine.disk.picture(without: ["own ledger"])
            report = await last.router.sweep(last.catalog)
            isIdle = machine.disk.picture(without: ["own ledger"]) == before
            // The first call of `carry` migrates the records. A second call purges their legacy copies.
            if !plan.isSpoilt { _ = try? await last.program.carry?(last.router) }
        }
        guard isOver(report) else { throw act.violation(.liveness, "\(Self.sweeps) sweeps did not finish: \(act.rows(of: report))") }
        guard isIdle else { throw act.violation(.twice, "sweep \(Self.sweeps) still changed something: \(act.rows(of: report))") }
    }

    private func isOver(_ report: MigrationReport) -> Bool {
        report.rows.allSatisfy { row in
            (row.state != .blocked && row.state != .failed && row.residue.isEmpty)
                || (plan.isSpoilt || plan.isDamaged) && row.state == .failed
        }
    }

    // MARK: Places

    /// Requires that legacy locations are empty, and that every record has the latest version and type tag.
    private func judgePlaces() throws {
        if plan.isSpoilt { return }
        if plan.kind.hasOlder {
            let held = machine.disk.contents(of: shape.olderPlace).filter { if case .value = $0.value { true } else { false } }
            if let first = held.map(\.key.name).min() { throw act.violation(.liveness, "\(first) is still stored in the older place") }
        }
        for record in 0..<plan.count {
            guard case .value(_, let metadata, _) = machine.disk.contents(of: shape.place)[shape.address(record)] else { continue }
            let version = plan.kind.latestSchemaVersion
            guard metadata.typeTag == shape.latestTag, metadata.schemaVersion == version,
                !plan.kind.isCollection || ["\(version)", "\(version)+"].contains(metadata.attributes["LocalData.version"])
            else {
                throw act.violation(
                    .liveness, "record \(record) is a \(metadata.typeTag ?? "-") of version \(metadata.schemaVersion ?? 0) in the end")
            }
        }
    }

    /// Reads the final values, one by one and in a list.
    private func finalValues(_ last: RecordScene.Running) async throws -> [String?] {
        var values: [String?] = []
        for record in 0..<plan.count {
            let begin = machine.diary.begin([(record, .read(nil))], by: last.version, "value \(record) in the end")
            do {
                let value = try await last.program.records[record].value(last.router)
                machine.diary.end(begin, .happened([.read(value)]), "value", "answered: \(value ?? "nothing")")
                values.append(value)
            } catch let error as StorageError {
                machine.diary.check(message: "\(error)")
                guard plan.kind == .retagged, plan.isSpoilt, error.code == StorageError.incompatibleSchema else {
                    throw act.violation(.order, "in the end record \(record) cannot be read: \(error)")
                }
                machine.diary.end(begin, .happened([.refused]), "value", "\(error.code)")
                values.append(nil)
            }
        }
        guard let all = last.program.all else { return values }
        let found = try await all(last.router).sorted { $0.id < $1.id }
        let expected = values.enumerated().compactMap { record, text in text.map { (id: RecordShape.id(record), text: $0) } }
        // A value may expire between the two reads.
        guard found.map(\.id) == expected.map(\.id) && found.map(\.text) == expected.map(\.text) || plan.kind.expires else {
            throw act.violation(.order, "in the end there are \(expected), and among all of them \(found)")
        }
        return values
    }

    /// Requires that a query for a text finds exactly the records that have it, and counts them.
    private func judgeQueries(_ last: RecordScene.Running, _ values: [String?]) async throws {
        guard let find = last.program.find, !plan.isSpoilt, !plan.kind.expires else { return }
        let texts = (0..<plan.count).flatMap { written($0).map(\.text) }
        for text in Set(texts).sorted() {
            let found = try await find(last.router, text)
            let ids = values.indices.filter { values[$0] == text }.map(RecordShape.id).sorted()
            guard found.ids == ids, found.count == ids.count else {
                throw act.violation(
                    .order, "in the end \(ids) have the text \(text), and queries find \(found.ids) and count \(found.count)")
            }
        }
        if plan.place == .sealed { return }
        for record in values.indices {
            guard case .value(_, let metadata, _) = machine.disk.contents(of: shape.place)[shape.address(record)] else { continue }
            guard metadata.attributes["text"] != values[record] else { continue }
            throw act.violation(.liveness, "record \(record) has the attribute \(metadata.attributes["text"] ?? "-") in the end")
        }
    }

    private func judgeOrder() throws {
        for record in 0..<plan.count {
            let history = machine.diary.history(of: record, begins[record].rules)
            var begin = begins[record]
            begin.cutsLeft = machine.diary.powerCuts
            try act.judge(history, from: begin, of: "record \(record)")
        }
    }

    /// Requires that the damaged record is still stored, because no call removed it.
    private func judgeDamage() throws {
        guard case .damaged(RecordShape.damage)? = machine.disk.contents(of: shape.place)[shape.damagedAddress] else {
            throw act.violation(.unseen, "the damaged record is gone")
        }
    }

    // MARK: Nothing is destroyed unseen

    /// A text that was stored, and the time of its write.
    private struct Written {
        let text: String
        let begin: Int
        let isOlder: Bool
        let life: Life
    }

    private func written(_ record: Int) -> [Written] {
        var all: [Written] = []
        let begin = begins[record]
        if let text = begin.now.value { all.append(Written(text: text, begin: 0, isOlder: false, life: begin.now.life)) }
        if let text = begin.older.value { all.append(Written(text: text, begin: 0, isOlder: true, life: begin.older.life)) }
        for entry in machine.diary.entries where entry.key == record && entry.end != nil {
            guard let text = entry.deed.text else { continue }
            var isOlder = false
            if case .older = entry.deed { isOlder = true }
            var life = entry.life(plan.lifetime.map(Double.init))
            // An update keeps the remaining lifetime of the previous value, which is not known here.
            if case .swap(_?, _, _) = entry.deed, plan.lifetime != nil { life.low = 0 }
            all.append(Written(text: text, begin: entry.begin, isOlder: isOlder, life: life))
        }
        return all
    }

    private func judgeUnseen(_ last: RecordScene.Running, _ values: [String?]) async throws {
        var kept = Set(values.compactMap(\.self).flatMap { Marks.numbers(in: Array($0.utf8)) })
        if plan.isSpoilt {
            // A program of version 1 can still read records that have its type.
            let older = await scene.launch("last, of version 1", version: 1)
            for record in older.program.records {
                if let text = try? await record.value(older.router) { kept.insert(Marks.number(in: text)) }
            }
        }
        for bytes in try await act.quarantine(last.router) { kept.formUnion(Marks.numbers(in: bytes)) }
        for name in shape.media where name != "own quarantine" {
            for case .value(let payload, _, _) in machine.disk.contents(of: name).values {
                kept.formUnion(Marks.numbers(in: payload.canonicalBytes))
            }
        }
        for record in 0..<plan.count {
            let changes = machine.diary.entries.filter { $0.key == record && $0.deed.isChange }
            for text in written(record) where text.life.low > machine.world.wallSeconds {
                let isReplaced = changes.contains { entry in
                    if case .older = entry.deed, !text.isOlder { return false }
                    return entry.begin != text.begin && (entry.end ?? .max) > text.begin
                }
                guard !isReplaced, !kept.contains(Marks.number(in: text.text)) else { continue }
                throw act.violation(.unseen, "\(text.text) is not in its destination, a legacy location or quarantine")
            }
        }
    }

    // MARK: Backups

    /// Requires that the bytes of earlier versions can be restored.
    private func judgeBackups(_ last: RecordScene.Running, _ values: [String?]) async throws {
        guard plan.kind.keepsBackups else { return }
        for record in 0..<plan.count {
            var writers: [String: Int] = [:]
            if let text = begins[record].now.value { writers[text] = plan.beginnings[record] }
            for entry in machine.diary.entries where entry.key == record {
                if let text = entry.deed.text { writers[text] = entry.program }
            }
            let calls = last.program.records[record]
            for version in 1..<plan.kind.latest {
                // The only way to look at a backup is to restore it. The record that it replaces is then kept as a
                // backup of that record's version.
                let restored = try await calls.restore(last.router, version)
                let backup = restored == nil ? nil : try await calls.value(last.router)
                if restored != nil, backup.flatMap({ writers[$0] }).map({ $0 <= version }) != true {
                    throw act.violation(.unseen, "the backup \(backup ?? "-") of record \(record) was never stored in version \(version)")
                }
                guard let value = values[record], writers[value] == version else { continue }
                // A keyring has no common commit for a record and its backup. So another process may have replaced the
                // backup by an earlier record.
                guard backup != nil, backup == value || plan.place == .ring else {
                    throw act.violation(.unseen, "\(value) was stored in version \(version), and its backup is \(backup ?? "missing")")
                }
            }
        }
    }
}
