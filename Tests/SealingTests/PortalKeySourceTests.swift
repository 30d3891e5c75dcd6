import BackendContract
import BackendRuntime
import Synchronization
import Testing

@testable import Sealing

/// Tests of the key that is derived from the secret of a portal. A pin is the short name by which sealed data refers to its key source.
struct PortalKeySourceTests {
    private let secret = (0..<64).map { UInt8($0 * 3) }

    private func source(_ name: String = "default", _ secret: [UInt8]? = nil) throws(BackendError) -> PortalKeySource {
        let secret = secret ?? self.secret
        return try PortalKeySource(name: name) { _, use throws(BackendError) in secret.withUnsafeBytes(use) }
    }

    /// Computed with Python's cryptography:
    /// `HKDF(SHA256(), 32, None, b"LocalData portal key 1 default").derive(bytes(i * 3 % 256 for i in range(64)))`.
    @Test func `the key that is derived from a secret matches another implementation`() async throws {
        let key = try #require(try await source().load()).current
        #expect(key.withBytes { hexadecimalText(of: Array($0)) } == "67c3bfc3406c15a0dd32dbb32512fe7a28b6437f701814d62e2ed0d273cdeea3")
    }

    @Test func `another name or another secret gives another key`() async throws {
        let keys = [
            try await source().load(), try await source("other").load(), try await source("default", Array(secret.dropLast())).load(),
        ]
        #expect(Set(keys.compactMap { $0?.current.identity }).count == 3)
        #expect(try await source().load()?.current.identity == keys[0]?.current.identity)
    }

    @Test func `a source always returns its derived key, and refuses to replace it by another one`() async throws {
        let source = try source()
        let own = try #require(try await source.load())
        let other = SourceKeys(only: .random { [UInt8](repeating: 1, count: $0) })
        #expect(try await source.create(other).holdsSame(as: own))
        #expect(await code { () throws(BackendError) in try await source.replace(own, with: other) } == .unsupported)
        #expect(try await source.holds(own.current.identity))
        #expect(try await !source.holds(other.current.identity))
    }

    @Test func `errors of the portal are reported, and only unlocking waits for a person`() async throws {
        let waited = Mutex<[Bool]>([])
        let source = try PortalKeySource(name: "default") { waits, _ throws(BackendError) in
            waited.withLock { $0.append(waits) }
            throw BackendError(.promptDismissed, "closed")
        }
        #expect(await code { () throws(BackendError) in try await source.load() } == .promptDismissed)
        #expect(await code { () throws(BackendError) in try await source.unlock() } == .promptDismissed)
        #expect(waited.withLock(\.self) == [false, true])
    }

    @Test(arguments: ["", "a\nb", "a\u{0}", String(repeating: "a", count: 201)])
    func `an invalid name is refused`(name: String) {
        let error = #expect(throws: BackendError.self) { try source(name) }
        #expect(error?.code == .invalidName)
    }

    @Test func `the pin of a source contains its name, and a dump of the source shows no secret`() throws {
        let source = try source("letters")
        #expect(source.pin == "portal letters" && source.identifier == "portal key letters" && source.protection == .keychain)
        var text = "\(source)"
        dump(source, to: &text)
        #expect(!text.contains(hexadecimalText(of: secret)))
    }
}
