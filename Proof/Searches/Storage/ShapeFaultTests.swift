import BackendContract
import Foundation
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// Every operation of the store goes wrong once, in every way, while a value is kept in two shapes: no shape is lost, and none is left behind.
@Suite(.inTurn, .tags(.campaign)) struct ShapeFaultTests {
    private static let domain = StorageDomain.encryptedSQLite(database: "main")
    private static let old = ShapeWorld.old(domain)
    private static let key = ShapeWorld.key(domain)
    private static let blue = ThemeV2(title: "Sky", size: 10, accent: "blue")
    private static let red = ThemeV2(title: "Sky", size: 11, accent: "red")

    struct Action: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// What version 1 does after version 2 has stored the blue theme.
        var before: (@Sendable (StorageRouter) async throws -> Void)?
        let act: @Sendable (StorageRouter) async throws -> Void
        /// The value before and after.
        let values: (ThemeV2?, ThemeV2?)
        /// What is quarantined in the end, perhaps.
        var mayBeQuarantined = 0
    }

    private static let written = ThemeV2(title: "Sun", size: 1, accent: "blue")
    private static let write: @Sendable (StorageRouter) async throws -> Void = { try await $0.set(ThemeV1(name: "Sun", size: 1), for: old) }

    static let actions = [
        Action(testDescription: "set", act: { try await $0.set(red, for: key) }, values: (blue, red)),
        Action(
            testDescription: "set over a write of version 1", before: write, act: { try await $0.set(red, for: key) },
            values: (written, red)),
        Action(
            testDescription: "update after a write of version 1", before: write, act: { try await $0.update(key) { $0?.size += 1 } },
            values: (written, ThemeV2(title: "Sun", size: 2, accent: "blue"))),
        Action(
            testDescription: "batch", act: { try await $0.batch { $0.set(red, for: key) } }, values: (blue, red)),
        Action(testDescription: "remove", act: { try await $0.remove(key) }, values: (blue, nil)),
        Action(
            testDescription: "write of version 1", act: { try await write($0) }, values: (blue, written)),
        Action(
            testDescription: "removal by version 1", act: { try await $0.remove(old) }, values: (blue, nil), mayBeQuarantined: 1),
        Action(
            testDescription: "sweep after a write of version 1", before: write,
            act: { try await $0.sweep(TestCatalog(.key(key))).requireComplete() }, values: (written, written)),
        Action(
            testDescription: "sweep after a removal by version 1", before: { try await $0.remove(old) },
            act: { try await $0.sweep(TestCatalog(.key(key))).requireComplete() }, values: (nil, nil), mayBeQuarantined: 1),
        Action(
            testDescription: "set after a removal by version 1", before: { try await $0.remove(old) },
            act: { try await $0.set(red, for: key) }, values: (nil, red), mayBeQuarantined: 1),
        Action(testDescription: "end of the window", act: { try await $0.endReleaseWindow(of: key) }, values: (blue, blue)),
        Action(
            testDescription: "end of the window after a write of version 1", before: write, act: { try await $0.endReleaseWindow(of: key) },
            values: (written, written)),
        Action(
            testDescription: "read by a program without the window", act: { _ = try await $0.get(ShapeWorld.dropped(domain)) },
            values: (blue, blue)),
    ]

    @Test(arguments: actions) func `every operation goes wrong in every way, and no shape is lost`(action: Action) async throws {
        var cases = 0
        let machine = try await prepared(action)
        let router = machine.launch()
        _ = await router.status(of: Self.domain)
        try await action.act(router)
        let operations = machine.backends(of: Self.domain).reduce(0) { $0 + $1.log.count }
        for number in 1...max(1, operations) {
            for fault in FaultEnumerationTests.faults {
                for isCut in [true, false] {
                    cases += 1
                    try await check(action, number, fault, isCut: isCut)
                }
            }
        }
        #expect(cases >= 2 * FaultEnumerationTests.faults.count)
    }

    private func prepared(_ action: Action) async throws -> TestMachine {
        let machine = TestMachine()
        let router = machine.launch()
        try await router.set(Self.blue, for: Self.key)
        try await action.before?(router)
        machine.cut()
        return machine
    }

    private func check(_ action: Action, _ number: Int, _ fault: FaultEnumerationTests.Fault, isCut: Bool) async throws {
        let place = "operation \(number) \(fault.name)\(isCut ? ", then a power cut" : "")"
        let machine = try await prepared(action)
        var router = machine.launch()
        _ = await router.status(of: Self.domain)
        for backend in machine.backends(of: Self.domain) { backend.inject(fault.fault, at: number, repeats: fault.lasts) }
        var allowed = [action.values.0, action.values.1]
        do {
            try await action.act(router)
            allowed = [action.values.1]
        } catch let error as StorageError where error.outcome == .notApplied { allowed = [action.values.0] } catch {}
        if isCut || machine.backends(of: Self.domain).contains(where: \.isStopped) {
            machine.cut()
            router = machine.launch()
        } else {
            for backend in machine.backends(of: Self.domain) { backend.removeFaults() }
        }
        let first = try await router.value(for: Self.key)
        #expect(allowed.contains(first), "\(place): it reads \(String(describing: first))")
        for _ in 0..<2 { try await router.sweep(TestCatalog(.key(Self.key))).requireComplete() }
        let last = await router.sweep(TestCatalog(.key(Self.key)))
        #expect(last.moved.isEmpty, "\(place): a sweep too many did something: \(last.rows)")
        #expect(try await router.value(for: Self.key) == first, "\(place): the sweep changed the value")
        let shapes = try await router.shapes(Self.domain)
        #expect([["": 1, "shape:2:": 2], ["": 2], [:]].contains(shapes), "\(place): \(shapes)")
        #expect(shapes.isEmpty == (first == nil), "\(place): \(shapes)")
        if shapes[""] == 1 {
            let seen = try await router.value(for: Self.old)
            #expect(seen == first.map { ThemeV1(name: $0.title, size: $0.size) }, "\(place): version 1 reads \(String(describing: seen))")
        }
        #expect(try await router.audit().quarantine.count <= action.mayBeQuarantined, "\(place)")
        machine.cut()
        #expect(try await machine.launch().value(for: Self.key) == first, "\(place): after another start")
    }
}
