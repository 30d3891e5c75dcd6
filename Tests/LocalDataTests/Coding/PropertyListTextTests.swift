import Foundation
import LocalData
import TestSupport
import Testing

/// The text `$null`, which Foundation's property list coders use for nil.
@Suite struct PropertyListTextTests {
    private struct Note: Codable, Sendable, Equatable {
        var text: String?
        var parts: [String?]
        var names: [String: String]
        var data = Data()
    }

    private func key<Value: Codable & Sendable>(_ type: Value.Type) -> StorageKey<Value> {
        StorageKey(name: "v", domain: .memory(), serializer: .plist, owner: "Tests", description: "A value")
    }

    @Test func `the plist serializer refuses the text that means nil`() async throws {
        let router = StorageRouter(configuration: .inMemory())
        await expectRefusal(.encodingFailed) { try await router.set("$null", for: key(String.self)) }
        await expectRefusal(.encodingFailed) { try await router.set("$null", for: key(String?.self)) }
        for note in [
            Note(text: "$null", parts: [], names: [:]), Note(text: nil, parts: ["a", "$null"], names: [:]),
            Note(text: nil, parts: [nil], names: ["a": "$null"]),
        ] { await expectRefusal(.encodingFailed) { try await router.set(note, for: key(Note.self)) } }
        #expect(try await router.value(for: key(Note.self)) == nil)
        try await router.set("$null", for: textKey("json", .memory()))
        #expect(try await router.get(textKey("json", .memory())) == "$null")
    }

    @Test func `the plist serializer stores nil, and texts that only resemble the text for nil`() async throws {
        let router = StorageRouter(configuration: .inMemory())
        for note in [
            Note(text: nil, parts: [nil, "$nul", "$null ", "U$null"], names: ["a": "$nulls"]),
            Note(text: "a", parts: [nil], names: [:], data: Data([0x55] + Array("$null".utf8))),
        ] {
            try await router.set(note, for: key(Note.self))
            #expect(try await router.get(key(Note.self)) == note)
        }
    }
}
