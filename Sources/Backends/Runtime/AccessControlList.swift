#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The POSIX access control list of a file: the users and groups besides the owner and the group of the file that have rights, and
/// who of them may write (acl(5)).
///
/// In a file with such a list, the group bits of the mode are the *mask*: the rights that the list gives at most. If the mask gives no
/// right to write, no entry of the list does.
package struct AccessControlList: Hashable, Sendable {
    /// The users of the list that may write, if the mask allows it.
    private(set) var writingUsers: [UInt32] = []
    /// The groups of the list that may write, if the mask allows it.
    private(set) var writingGroups: [UInt32] = []
    /// Whether the group of the file may write, if the mask allows it.
    private(set) var isWritableForGroup = false

    /// Reads the value of the extended attribute `system.posix_acl_access`: the version 2 in 32 bits, and then 8 bytes for each
    /// entry. An entry has a tag and rights in 16 bits each, and an ID in 32 bits. All numbers are little-endian
    /// (`linux/posix_acl_xattr.h`).
    /// - Returns: Nil if the value has another form.
    package init?(_ bytes: [UInt8]) {
        func number(at start: Int, length: Int) -> UInt32 { bytes[start..<start + length].reversed().reduce(0) { $0 << 8 | UInt32($1) } }
        guard bytes.count >= 4, bytes.count % 8 == 4, number(at: 0, length: 4) == 2 else { return nil }
        let right: UInt32 = 2
        for start in stride(from: 4, to: bytes.count, by: 8) where number(at: start + 2, length: 2) & right != 0 {
            switch number(at: start, length: 2) {
            case 0x01, 0x10, 0x20: break  // The owner, the mask and all others: the mode has these.
            case 0x02: writingUsers.append(number(at: start + 4, length: 4))
            case 0x04: isWritableForGroup = true
            case 0x08: writingGroups.append(number(at: start + 4, length: 4))
            default: return nil
            }
        }
    }
}

extension PosixFileSystem {
    /// Reads the extended attribute `system.posix_acl_access`. Other systems than Linux have other lists, which are not read.
    package func accessControlList(_ path: String) throws(FileError) -> AccessControlList? {
        guard let bytes = try storedList(path) else { return nil }
        guard let list = AccessControlList(bytes) else {
            throw FileError(number: EINVAL, operation: "read the access control list of", path: path)
        }
        return list
    }

    #if os(Linux)
        private func storedList(_ path: String) throws(FileError) -> [UInt8]? {
            // The kernel limits the value of an attribute to 64 KiB.
            var bytes = [UInt8](repeating: 0, count: 64 << 10)
            let count = bytes.withUnsafeMutableBytes { readAttribute(path, listAttribute, $0.baseAddress, $0.count) }
            guard count >= 0 else {
                if isNumberOfMissingList(errno) || errno == ENOENT || errno == ENOTDIR { return nil }
                throw FileError(number: errno, operation: "getxattr", path: path)
            }
            bytes.removeLast(bytes.count - count)
            return bytes
        }

        /// Gives an open file the access control list of another file, or removes its list if the other file has none. A new file has
        /// a list if its folder has a default one.
        /// - Returns: False if the list could not be given, for example because it names users that this user namespace does not have.
        func copyAccessControlList(of path: String, to descriptor: Int32) throws(FileError) -> Bool {
            guard let bytes = try storedList(path) else {
                return removeAttribute(descriptor, listAttribute) == 0 || isNumberOfMissingList(errno)
            }
            return bytes.withUnsafeBytes { writeAttribute(descriptor, listAttribute, $0.baseAddress, $0.count, 0) } == 0
        }
    #else
        private func storedList(_ path: String) throws(FileError) -> [UInt8]? { nil }

        func copyAccessControlList(of path: String, to descriptor: Int32) throws(FileError) -> Bool { true }
    #endif
}

#if os(Linux)
    private let listAttribute = "system.posix_acl_access"

    /// Whether a file has no access control list, or its file system has none.
    private func isNumberOfMissingList(_ number: Int32) -> Bool { number == ENODATA || number == EOPNOTSUPP }

    // The functions `getxattr`, `fsetxattr` and `fremovexattr` of the C library. Swift's module of the C library does not include their header.

    @_silgen_name("getxattr") private func readAttribute(
        _ path: UnsafePointer<CChar>, _ name: UnsafePointer<CChar>, _ value: UnsafeMutableRawPointer?, _ size: Int
    ) -> Int

    @_silgen_name("fsetxattr") private func writeAttribute(
        _ file: Int32, _ name: UnsafePointer<CChar>, _ value: UnsafeRawPointer?, _ size: Int, _ flags: Int32
    ) -> Int32

    @_silgen_name("fremovexattr") private func removeAttribute(_ file: Int32, _ name: UnsafePointer<CChar>) -> Int32
#endif
