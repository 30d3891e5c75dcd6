internal import BackendRuntime

/// The bytes of a secret in a separate allocation, which is overwritten before it is freed.
final class SecretBytes: @unchecked Sendable {
    // Safe to share between tasks: only `init` and `deinit` write to the memory.
    private let memory: UnsafeMutableRawBufferPointer

    init(_ bytes: some Collection<UInt8>) {
        memory = .allocate(byteCount: bytes.count, alignment: 1)
        memory.copyBytes(from: bytes)
    }

    deinit {
        wipe(memory)
        memory.deallocate()
    }

    /// Calls a closure with the bytes. The pointer is valid only during the call.
    func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        defer { withExtendedLifetime(self) {} }
        return try body(UnsafeRawBufferPointer(memory))
    }
}
