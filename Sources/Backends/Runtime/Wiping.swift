#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Overwrites memory that held a secret with zeros. The compiler does not remove this call.
///
/// Only these bytes are overwritten. Copies that the system or another library made remain.
package func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    #if canImport(Darwin)
        memset_s(start, bytes.count, 0, bytes.count)
    #else
        explicit_bzero(start, bytes.count)
    #endif
}

/// Overwrites the bytes of an array with zeros. If the array shares its memory with a copy, the copy keeps the bytes.
/// Wipe only an array that has no copies.
package func wipe(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { wipe($0) }
}
