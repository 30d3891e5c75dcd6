import BackendContract
import Foundation
import LocalData
import TestSupport

/// Checks whether a run kept all rules, after every store can be reached again.
struct Verdict: Sendable {
    let act: Act<MovingValues>
    let scene: Scene
    let begins: [ValueModel]

    private var machine: Machine<MovingValues> { scene.machine }
    private var plan: ValuePlan { act.plan }

    /// The largest number of sweeps, each of which migrates all keys. One sweep may not be enough: a later sweep purges
    /// copies that an earlier one left, or that had to stay until the machine was restarted.
    private static let sweeps = 6

    func reach() async throws {
        var last = await scene.launch("last")
        var report = MigrationReport()
        var isIdle = false
        for number in 0..<Self.sweeps where !isIdle || !isOver(report) || !stillHeld(report).isEmpty {
            if number > 0, !isOver(report) {
                // After an orderly restart, the acknowledged changes of a keyring are certain to be on the disk.
                last.process.end()
                machine.disk.restart()
                last = await scene.launch("last, start \(number)")
            }
            let before = machine.disk.picture(without: ["own ledger"])
            report = await last.router.sweep(scene.currentKeys)
            isIdle = machine.disk.picture(without: ["own ledger"]) == before
        }
        guard isOver(report) else { throw act.violation(.liveness, "\(Self.sweeps) sweeps did not finish: \(act.rows(of: report))") }
        if let held = stillHeld(report).first {
            throw act.violation(.liveness, "\(held) still holds a value after \(Self.sweeps) sweeps: \(act.rows(of: report))")
        }
        guard isIdle else { throw act.violation(.twice, "sweep \(Self.sweeps) still changed something: \(act.rows(of: report))") }
        let values = try await finalValues(last)
        if let leak = machine.leak { throw act.violation(.secrecy, leak) }
        try judgeOrder()
        try await judgeUnseen(last, values)
    }

    /// Whether the migration of a key may stay unfinished. A row of the report is the result for one key. The library
    /// may refuse the migration by design, or the migration may need content that is damaged.
    private func isExcused(_ row: MigrationReport.Row) -> Bool { row.state == .failed && isExcused(row.errorCode?.name) }

    private func isExcused(_ code: String?) -> Bool {
        if plan.kind == .weaker, code == StorageError.weakerProtection.name { return true }
        let isHurt =
            plan.beginnings.contains { $0 == .damaged || $0 == .undecodable || plan.isForged($0) }
            || plan.older.contains { $0 == .damaged || $0 == .undecodable }
            || !machine.disk.damage.isEmpty
        return isHurt && [StorageError.corrupted, StorageError.migrationFailed, StorageError.undecodable].map(\.name).contains(code)
    }

    private func isOver(_ report: MigrationReport) -> Bool {
        // A legacy location that two keys share keeps its value while one of the keys cannot be migrated. If that is
        // excused, the copy that is left is excused as well.
        let isBarred = plan.kind == .shared && report.rows.contains(where: isExcused)
        return report.rows.allSatisfy { ($0.state != .blocked && $0.state != .failed && ($0.residue.isEmpty || isBarred)) || isExcused($0) }
    }

    /// The legacy locations that still hold a value although their keys are completely migrated.
    private func stillHeld(_ report: MigrationReport) -> [String] {
        let excused = Set(report.rows.filter(isExcused).map(\.key))
        // A custom migration decides about conflicts, so its legacy locations may keep values.
        if plan.kind == .custom || plan.kind == .byHand { return [] }
        let open = Set(
            scene.moving.filter { moving in
                excused.contains(moving.calls.key.name) || machine.disk.contents(of: moving.spot.medium)[moving.spot.address] == nil
            }.flatMap { $0.older.map(\.spot) })
        return scene.moving.flatMap { moving in
            moving.older.map(\.spot).filter { spot in
                guard spot != moving.spot, !open.contains(spot),
                    case .value(let payload, _, _) = machine.disk.contents(of: spot.medium)[spot.address]
                else { return false }
                return payload != Scene.undecodable
            }.map(\.address.name)
        }
    }

    /// The final values. The outer optional is nil for a value that cannot be read.
    private func finalValues(_ last: Scene.Running) async throws -> [String??] {
        var values: [String??] = []
        for (index, moving) in scene.moving.enumerated() {
            do {
                let value = try await moving.calls.value(last.router)
                values.append(.some(value))
                machine.diary.add(index, .read(value), "in the end \(index) is \(value ?? "nothing")")
            } catch let error as StorageError {
                machine.diary.check(message: "\(error)")
                machine.diary.note("in the end \(index) cannot be read: \(error)")
                values.append(nil)
                guard isExcused(error.code.name) else { throw act.violation(.order, "in the end key \(index) cannot be read: \(error)") }
            }
        }
        return values
    }

    private func judgeOrder() throws {
        for (index, moving) in scene.moving.enumerated() {
            let history = machine.diary.history(of: index, moving, begins[index])
            var begin = begins[index]
            begin.cutsLeft = machine.diary.powerCuts
            try act.judge(history, from: begin, of: "key \(index)")
        }
    }

    // MARK: Nothing is destroyed unseen

    /// Requires that every written text, and all damaged bytes, are still stored or were replaced by a call.
    private func judgeUnseen(_ last: Scene.Running, _ values: [String??]) async throws {
        var kept = try await act.quarantine(last.router)
        for name in scene.media where name != "own quarantine" {
            for content in machine.disk.contents(of: name).values {
                switch content {
                case .value(let payload, _, _): kept.append(payload.canonicalBytes)
                case .damaged(let bytes): kept.append(bytes)
                case .tombstone: break
                }
            }
        }
        for damage in machine.disk.damage
        where !damage.bytes.isEmpty && !isReplacedFromOutside(damage) && !kept.contains(where: { Self.contains($0, damage.bytes) }) {
            throw act.violation(.unseen, "damaged bytes are gone: \(String(decoding: damage.bytes, as: UTF8.self))")
        }
        // A keyring that acknowledges changes before they are durable may lose them in a power cut. Then texts may be
        // gone.
        if plan.isWary, machine.diary.powerCuts > 0 { return }
        var numbers = Set(kept.flatMap(Marks.numbers(in:)))
        if plan.kind == .transforming { for bytes in kept { numbers.formUnion(Self.digits(in: bytes)) } }
        for case let text?? in values { numbers.formUnion(Marks.numbers(in: Array(text.utf8))) }
        for (index, moving) in scene.moving.enumerated() { try judge(index, moving, numbers) }
    }

    /// Whether a program that does not use LocalData, or an older version, changed the damaged slot.
    private func isReplacedFromOutside(_ damage: SimulatedDisk.Damage) -> Bool {
        machine.diary.entries.contains { entry in
            guard let place = entry.deed.olderPlace else { return false }
            let spot = scene.moving[entry.key].older[place].spot
            return spot.medium == damage.medium && spot.address == damage.address
        }
    }

    private func judge(_ index: Int, _ moving: Moving, _ numbers: Set<Int>) throws {
        // Changes of other keys with the same legacy location count too, because they can replace its value.
        let sharing = Set(
            scene.moving.indices.filter { !Set(scene.moving[$0].older.map(\.spot)).isDisjoint(with: moving.older.map(\.spot)) })
        let entries = machine.diary.entries.filter { sharing.contains($0.key) }
        func changes(after begin: Int) -> Bool {
            entries.contains { entry in
                switch entry.deed {
                case .write, .swap: (entry.end ?? .max) > begin
                default: false
                }
            }
        }
        func laterInPlace(_ place: Int, after begin: Int) -> Bool {
            entries.contains { entry in
                // In a chain, an older version moves values from one legacy location to the other. So a change of one
                // location may replace the content of the other.
                guard let other = entry.deed.olderPlace, other == place || moving.isChain else { return false }
                return (entry.end ?? .max) > begin + 1
            }
        }
        for (place, text) in begins[index].older.enumerated() {
            guard let text, !changes(after: 0), !laterInPlace(place, after: 0) else { continue }
            try require(text, numbers)
        }
        if let text = begins[index].value, !changes(after: 0) { try require(text, numbers) }
        for entry in entries where entry.end != nil {
            switch entry.deed {
            case .older(let place, let text?) where !changes(after: entry.begin) && !laterInPlace(place, after: entry.begin):
                try require(text, numbers)
            case .write(let text?), .swap(_, let text?, _):
                let others = entries.contains { other in
                    guard other.begin != entry.begin else { return false }
                    switch other.deed {
                    case .write, .swap: return (other.end ?? .max) > entry.begin
                    default: return false
                    }
                }
                if !others { try require(text, numbers) }
            default: break
            }
        }
    }

    private func require(_ text: String, _ numbers: Set<Int>) throws {
        for number in Marks.numbers(in: Array(text.utf8)) where !numbers.contains(number) {
            throw act.violation(.unseen, "\(Marks.text(of: number)) is not in its destination, a legacy location or quarantine")
        }
    }

    private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        guard bytes.count >= part.count else { return false }
        return (0...(bytes.count - part.count)).contains { bytes[$0..<($0 + part.count)].elementsEqual(part) }
    }

    /// Returns the number in some bytes. The quarantine stores a number as decimal digits. A legacy location stores it
    /// as a tag byte and eight bytes.
    static func digits(in bytes: [UInt8]) -> [Int] {
        if bytes.count == 9, bytes[0] == 2 { return [bytes.dropFirst().reduce(0) { $0 << 8 | Int($1) }] }
        return Int(String(decoding: bytes, as: UTF8.self)).map { [$0] } ?? []
    }
}
