internal import BackendRuntime

/// A secret's bytes in memory of their own, which is overwritten before it is given back.
final class SecretBytes: @unchecked Sendable {
    // Proof: the memory is written in `init` and in `deinit` only.
    private let memory: UnsafeMutableRawBufferPointer

    init(_ bytes: some Collection<UInt8>) {
        memory = .allocate(byteCount: bytes.count, alignment: 1)
        memory.copyBytes(from: bytes)
    }

    deinit {
        wipe(memory)
        memory.deallocate()
    }

    /// Lends the bytes for the duration of a call.
    func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        defer { withExtendedLifetime(self) {} }
        return try body(UnsafeRawBufferPointer(memory))
    }
}
