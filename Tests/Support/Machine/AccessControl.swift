#if os(Linux)
    import Foundation

    /// A POSIX access control list, in the form in which the kernel stores it (acl(5), `linux/posix_acl_xattr.h`).
    package struct TestAccessControlList: Sendable {
        /// An entry: its tag, its rights (4 read, 2 write, 1 execute), and the number of a user or group.
        package typealias Entry = (tag: UInt16, rights: UInt16, id: UInt32)

        /// The value of the extended attribute.
        package let bytes: [UInt8]

        /// Creates a list of the given entries alone.
        package init(entries: [Entry], version: UInt32 = 2) {
            func bytes(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }
            self.bytes = bytes(version) + entries.flatMap { bytes($0.tag) + bytes($0.rights) + bytes($0.id) }
        }

        /// Creates the list of a file whose owner may do everything, and whose group may read.
        /// - Parameters:
        ///   - mask: The rights that the list gives at most.
        ///   - users: The rights of other users.
        ///   - groups: The rights of other groups.
        package init(mask: UInt16, users: [UInt32: UInt16] = [:], groups: [UInt32: UInt16] = [:]) {
            let named = { (tag: UInt16, rights: [UInt32: UInt16]) in
                rights.sorted { $0.key < $1.key }.map { Entry(tag: tag, rights: $0.value, id: $0.key) }
            }
            // The kernel refuses a list in another order.
            let first = [Entry(tag: 0x01, rights: 7, id: .max)] + named(0x02, users)
            let second = [Entry(tag: 0x04, rights: 5, id: .max)] + named(0x08, groups)
            self.init(entries: first + second + [Entry(tag: 0x10, rights: mask, id: .max), Entry(tag: 0x20, rights: 0, id: .max)])
        }

        /// Gives a file or folder the list, as setfacl does. Returns whether it could.
        /// - Parameters:
        ///   - path: The path of the file or folder.
        ///   - isDefault: Whether the list is the one that new files in the folder get.
        package func give(to path: String, isDefault: Bool = false) -> Bool {
            setAttribute(path, isDefault ? "system.posix_acl_default" : "system.posix_acl_access", bytes, bytes.count, 0) == 0
        }

        /// Removes the list of a file. Returns whether it had one.
        package static func remove(from path: String) -> Bool { removeAttribute(path, "system.posix_acl_access") == 0 }

        /// Whether the file system of temporary files has such lists.
        package static let areSupported: Bool = {
            guard let folder = try? TemporaryDirectory() else { return false }
            return TestAccessControlList(mask: 7, users: [12_345: 7]).give(to: folder.path)
        }()
    }

    // The functions `setxattr` and `removexattr` of the C library. Swift's module of the C library does not include their header.

    @_silgen_name("setxattr") private func setAttribute(
        _ path: UnsafePointer<CChar>, _ name: UnsafePointer<CChar>, _ value: UnsafeRawPointer?, _ size: Int, _ flags: Int32
    ) -> Int32

    @_silgen_name("removexattr") private func removeAttribute(_ path: UnsafePointer<CChar>, _ name: UnsafePointer<CChar>) -> Int32
#endif
