import BackendContract
import Foundation
import TestSupport
import Testing

@testable import BackendRuntime

/// Tests of which users can change a file or a folder of its path.
/// Tests that change the owner or group of real files run only as root.
/// In a user namespace, the files of all users without a mapping have the same owner, usually 65534.
@Suite struct PathTrustTests {
    private let folder: TemporaryDirectory
    private let files = PosixFileSystem()
    private let path: String

    init() throws {
        folder = try TemporaryDirectory()
        path = try folder.folder("one/two") + "/file"
        try writeFile([1], to: path)
    }

    private func refusal(_ paths: String...) -> BackendError? {
        do throws(BackendError) { try files.requireTrust(in: paths) } catch { return error }
        return nil
    }

    private func give(_ path: String, to user: UInt32) throws {
        #expect(chown(path, user, user) == 0)
    }

    @Test func `a path that only the user can write is trusted, whether it exists or not`() throws {
        #expect(refusal(path) == nil)
        #expect(refusal(path + "-wal", folder.file("one/none/at/all")) == nil)
        #expect(refusal("relative") == nil)
    }

    @Test(arguments: [0o602, 0o606, 0o666, 0o1666]) func `a file that others can write is refused with its path`(mode: Int) throws {
        try setPermissions(mode, of: path)
        let error = try #require(refusal(path))
        #expect(error.code == .untrusted)
        #expect(error.reason.contains(path) && error.reason.contains("chmod go-w"))
    }

    @Test(arguments: ["one/two", "one", ""], [0o702, 0o707, 0o777])
    func `a parent folder that others can write is refused with its path`(name: String, mode: Int) throws {
        let directory = name.isEmpty ? folder.path : folder.file(name)
        try setPermissions(mode, of: directory)
        defer { try? setPermissions(0o700, of: directory) }
        let error = try #require(refusal(path))
        #expect(error.code == .untrusted)
        #expect(error.reason.contains("folder \(directory),") && error.reason.contains("chmod go-w"))
        #expect(refusal(directory + "/not-yet")?.code == .untrusted)
    }

    @Test func `a folder with the sticky bit is trusted even if all users can write it`() throws {
        try setPermissions(0o1777, of: folder.file("one"))
        #expect(refusal(path) == nil)
    }

    @Test(.enabled(if: geteuid() == 0, "changes groups"), arguments: ["one/two/file", "one/two"])
    func `a path that a group can write is refused, unless it is the private group of the user`(name: String) throws {
        try setPermissions(name.hasSuffix("file") ? 0o660 : 0o2770, of: folder.file(name))
        #expect(refusal(path) == nil)
        #expect(chown(folder.file(name), 0, 65_534) == 0)
        try setPermissions(name.hasSuffix("file") ? 0o660 : 0o2770, of: folder.file(name))
        #expect(refusal(path)?.reason.contains(folder.file(name) + ",") == true)
    }

    @Test func `both the folders that contain a symbolic link and the folders that contain its target are checked`() throws {
        let target = try folder.folder("elsewhere/deep") + "/file"
        try writeFile([1], to: target)
        let link = folder.file("one/link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.file("elsewhere/deep"))
        #expect(refusal(link + "/file") == nil)
        for open in ["elsewhere", "one"] {
            try setPermissions(0o777, of: folder.file(open))
            #expect(refusal(link + "/file")?.reason.contains("folder \(folder.file(open)),") == true)
            try setPermissions(0o700, of: folder.file(open))
        }
    }

    @Test(.enabled(if: geteuid() == 0, "changes owners"), arguments: ["one/two/file", "one/two", "one"])
    func `a path that belongs to another user is refused, with the path and its owner in the error`(name: String) throws {
        try give(folder.file(name), to: 65_534)
        let error = try #require(refusal(path))
        #expect(error.code == .untrusted)
        #expect(error.reason.contains(folder.file(name)) && error.reason.contains("user 65534"))
        #expect(error.reason.contains("Run this program as user 65534") && !error.reason.contains("chown"))
    }

    @Test(arguments: [0, 1_000] as [UInt32])
    func `the error for data of another user advises to run as that user, and does not advise root to change the owner`(
        user: UInt32
    ) throws {
        let status = FileStatus(
            device: 1, inode: 1, size: 0, modified: 0, changed: 0, permissions: 0o600, owner: 998, group: 998, isRegular: true,
            isDirectory: false)
        let error = #expect(throws: BackendError.self) { try status.requireTrust(of: "/data", TrustedOwners(user: user)) }
        let reason = try #require(error).reason
        #expect(error?.code == .untrusted && reason.contains("as user 998"), "\(reason)")
        #expect(reason.contains("chown") == (user != 0), "\(reason)")
    }

    @Test(
        arguments: [
            ("         0          0 4294967295\n", nil), ("         0       1000          1\n", 65_534), ("1000 1000 1\n", 65_534),
            ("1000 1000 1\n0 0 1\n", nil), (nil, nil),
        ] as [(String?, UInt32?)])
    func `the common owner of files of unmapped users is trusted like root only if root has no mapping in the user namespace`(
        map: String?, unknown: UInt32?
    ) {
        let owners = TrustedOwners(user: 1_000, map: map, unknownOwner: 65_534)
        #expect(owners == TrustedOwners(user: 1_000, unknownOwner: unknown))
        func status(owner: UInt32, isDirectory: Bool) -> FileStatus {
            FileStatus(
                device: 1, inode: 1, size: 0, modified: 0, changed: 0, permissions: 0o700, owner: owner, group: owner,
                isRegular: !isDirectory, isDirectory: isDirectory)
        }
        #expect(owners.own(status(owner: 65_534, isDirectory: true)) == (unknown != nil))
        #expect(!owners.own(status(owner: 65_534, isDirectory: false)))
        #expect(!owners.own(status(owner: 1_001, isDirectory: true)))
    }
}
