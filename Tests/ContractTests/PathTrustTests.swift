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

    // MARK: Groups

    /// Returns files of a machine with the given lines of `/etc/passwd` and `/etc/group`.
    private func machine(users: String, groups: String) throws -> PosixFileSystem {
        try writeFile(users, to: folder.file("passwd"))
        try writeFile(groups, to: folder.file("group"))
        return PosixFileSystem(
            accounts: Accounts(usersFile: folder.file("passwd"), groupsFile: folder.file("group"), asksNameService: false))
    }

    private static let users = "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n"

    @Test(
        arguments: [
            // The group that Debian and Fedora create for each user.
            (users, "root:x:0:\nalice:x:1000:\n", true), (users, "alice:x:1000:alice\n", true), (users, "alice:x:1000:alice,root\n", true),
            // usermod -aG alice bob
            (users, "alice:x:1000:bob\n", false), (users, "alice:x:1000:alice,bob\n", false), (users, "alice:x:1000:carol\n", false),
            // groupadd -o -g 1000 -U bob team
            (users, "alice:x:1000:\nteam:x:1000:bob\n", false),
            // usermod -g alice bob
            (users + "carol:x:1002:1000::/home/carol:/bin/sh\n", "alice:x:1000:\n", false),
            (users + "toor:x:0:1000::/root:/bin/sh\n", "alice:x:1000:\n", true),
            // A container: neither the user nor the group has an entry.
            ("root:x:0:0::/root:/bin/sh\n", "root:x:0:\n", true), ("", "", true),
        ] as [(String, String, Bool)])
    func `a group is private if no entry of the user database gives it another member`(
        users: String, groups: String, isPrivate: Bool
    ) throws {
        #expect(try machine(users: users, groups: groups).isPrivate(1_000, of: 1_000) == isPrivate)
    }

    @Test func `the group of another user is not private`() throws {
        #expect(try machine(users: Self.users, groups: "").isPrivate(1_000, of: 1_001) == false)
    }

    @Test(.enabled(if: geteuid() == 0, "changes groups"), arguments: ["one/two/file", "one/two"])
    func `a path that a group can write is refused, unless it is the private group of the user`(name: String) throws {
        func refusal(_ groups: String) throws -> BackendError? {
            let files = try machine(users: Self.users, groups: groups)
            do throws(BackendError) { try files.requireTrust(in: [path]) } catch { return error }
            return nil
        }
        try setPermissions(name.hasSuffix("file") ? 0o660 : 0o2770, of: folder.file(name))
        #expect(try refusal("root:x:0:\n") == nil)
        let shared = try #require(try refusal("root:x:0:alice\n"))
        #expect(shared.code == .untrusted && shared.reason.contains("group 0") && shared.reason.contains(folder.file(name) + ","))
        #expect(chown(folder.file(name), 0, 65_534) == 0)
        try setPermissions(name.hasSuffix("file") ? 0o660 : 0o2770, of: folder.file(name))
        #expect(try refusal("root:x:0:\n")?.reason.contains("group 65534") == true)
    }

    // MARK: Access control lists

    @Test(.enabled(if: TestAccessControlList.areSupported, "needs access control lists"), arguments: ["one/two/file", "one/two", "one"])
    func `a path that an access control list opens to another user is refused`(name: String) throws {
        let (user, group) = (TestAccessControlList(mask: 7, users: [12_345: 7]), TestAccessControlList(mask: 7, groups: [12_345: 7]))
        for (list, writer) in [(user, "user 12345"), (group, "group 12345")] {
            try #require(list.give(to: folder.file(name)))
            let error = try #require(refusal(path))
            #expect(error.code == .untrusted && error.reason.contains(writer) && error.reason.contains(folder.file(name) + ","), "\(error)")
            // The remedy of the error.
            try setPermissions(0o750, of: folder.file(name))
            #expect(refusal(path) == nil)
        }
    }

    @Test(.enabled(if: TestAccessControlList.areSupported, "needs access control lists"))
    func `an access control list that gives no other user the right to write is trusted`() throws {
        let trusted = [
            TestAccessControlList(mask: 7, users: [12_345: 5], groups: [12_345: 5]), TestAccessControlList(mask: 5, users: [12_345: 7]),
            TestAccessControlList(mask: 7, users: [geteuid(): 7]), TestAccessControlList(mask: 7, users: [0: 7]),
        ]
        for list in trusted {
            try #require(list.give(to: folder.file("one")))
            #expect(refusal(path) == nil, "\(list)")
        }
    }

    @Test func `an access control list is read as the kernel writes it`() throws {
        let stored = TestAccessControlList(mask: 7, users: [1_001: 6, 1_002: 4], groups: [70_000: 2]).bytes
        let list = try #require(AccessControlList(stored))
        #expect(list.writingUsers == [1_001] && list.writingGroups == [70_000] && !list.isWritableForGroup)
        let group = TestAccessControlList(entries: [(0x04, 7, .max)]).bytes
        #expect(try #require(AccessControlList(group)).isWritableForGroup)
        let unknown = [TestAccessControlList(entries: [], version: 3), TestAccessControlList(entries: [(0x40, 7, 1)])].map(\.bytes)
        for bytes in [[], [2, 0, 0], Array(group.dropLast())] + unknown { #expect(AccessControlList(bytes) == nil, "\(bytes)") }
    }

    @Test(.enabled(if: TestAccessControlList.areSupported, "needs access control lists"))
    func `a replaced file keeps its access control list, and gets none from its folder`() throws {
        try #require(TestAccessControlList(mask: 6, users: [12_345: 6]).give(to: path))
        try files.replaceDurably(path, with: [2], temporaryName: "temporary")
        #expect(try files.accessControlList(path)?.writingUsers == [12_345])
        // The group may read only, although the mode shows the mask.
        #expect(try files.accessControlList(path)?.isWritableForGroup == false && files.status(path)?.permissions == 0o760)
        try #require(TestAccessControlList(mask: 7, users: [12_345: 7]).give(to: folder.file("one"), isDefault: true))
        let plain = folder.file("one/plain")
        try files.create(plain, [1])
        #expect(TestAccessControlList.remove(from: plain))
        try setPermissions(0o660, of: plain)
        try files.replaceDurably(plain, with: [2], temporaryName: "temporary")
        #expect(try files.accessControlList(plain) == nil && files.status(plain)?.permissions == 0o660)
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
        let error = try #require(status.refusal(of: "/data", trusting: TrustedOwners(user: user)))
        let reason = error.reason
        #expect(error.code == .untrusted && reason.contains("as user 998"), "\(reason)")
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
