import BackendContract
import BackendRuntime
import DefaultsBackend
import Foundation
import TestSupport
import Testing

/// Tests that Foundation's `UserDefaults` and the property list store read each other's values.
/// `UserDefaults` runs in a separate process with its own configuration directory.
/// A value that another program wrote is a foreign value.
@Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct FoundationInteropTests {
    let scratch: Scratch
    let configuration: String

    init() throws {
        scratch = try Scratch()
        configuration = scratch.root + "/config"
        try FileManager.default.createDirectory(atPath: configuration, withIntermediateDirectories: false)
    }

    @Test func `values that UserDefaults wrote are read as foreign values of the same type`() async throws {
        let run = try await scratch.probe("write-defaults", "suite", configuration: configuration)
        #expect(run.output == "true")
        #expect(try scratch.names(in: configuration) == ["suite.plist"])
        let names = ["text", "integer", "unsigned", "whole real", "yes", "one", "date", "data"]
        let probes = try await scratch.store().read(names.map { StorageAddress($0) }, .validated)
        let expected: [NativeValue] = [
            .string("Zürich <&> \"quoted\"\n2nd line"), .integer(42), .unsigned(.max), .real(3), .boolean(true), .integer(1),
            .date(725_760_000), .data([0, 1, 2, 0xFF]),
        ]
        #expect(probes.map(\.native) == expected)
        #expect(probes.compactMap(\.record).map(\.isForeign) == [Bool](repeating: true, count: names.count))
    }

    @Test func `UserDefaults reads values that the store wrote as property list types`() async throws {
        let store = scratch.store()
        let values: [(String, NativeValue)] = [
            ("text", .string("a <&> é")), ("integer", .integer(-7)), ("real", .real(0.1)), ("yes", .boolean(true)),
            ("data", .data([1, 2])),
        ]
        for (name, value) in values {
            _ = try await store.apply(.put(.native(value), StorageMetadata(serializer: "json"), at: StorageAddress(name)))
        }
        let run = try await scratch.probe("print-defaults", "suite", configuration: configuration)
        #expect(run.output == "text=a <&> é\ninteger=-7\nreal=0.1\nyes=true\ndata=2 bytes")
    }

    @Test func `a rewrite by UserDefaults keeps metadata, and makes only the changed value foreign`() async throws {
        let store = scratch.store()
        let metadata = StorageMetadata(serializer: "json", origin: [1, 2])
        _ = try await store.apply([
            .put(.text("kept"), metadata, at: StorageAddress("kept")), .put(.text("ours"), metadata, at: StorageAddress("changed")),
            .put(.bytes([0, 0xFF]), metadata, at: StorageAddress("bytes")), .tombstone(metadata, at: StorageAddress("gone")),
            .put(.bytes([3]), metadata, at: StorageAddress("entry", in: StorageNamespace("ledger"))),
        ])
        let addresses = [
            StorageAddress("kept"), StorageAddress("bytes"), StorageAddress("gone"),
            StorageAddress("entry", in: StorageNamespace("ledger")),
        ]
        let before = try await store.read(addresses, .validated)
        let run = try await scratch.probe("set-default", "suite", "changed", "theirs", configuration: configuration)
        #expect(run.output == "true")
        #expect(try await store.read(addresses, .validated) == before)
        let changed = try await store.read(StorageAddress("changed"))
        #expect(changed.text == "theirs")
        #expect(changed.record?.isForeign == true)
        #expect(changed.record?.metadata == StorageMetadata())
        #expect(try await store.apply(.put(.text("again"), metadata, at: StorageAddress("changed"))).isApplied)
        let reading = try await scratch.probe("print-default", "suite", "changed", configuration: configuration)
        #expect(reading.output == "again")
    }
}
