import BackendContract
import BackendRuntime
import Foundation
import Synchronization
import TestSupport
import Testing

/// Tests of the real file system, in a temporary folder for each test.
struct PosixFileSystemTests {
    private let files = PosixFileSystem()
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private var root: String { folder.path }
    private func path(_ name: String) -> String { folder.file(name) }

    @Test func `the status, content and list of a missing path are nil, even if its folder is a file`() throws {
        try files.create(path("file"), [1])
        for missing in ["none", "none/below", "file/below"] {
            #expect(try files.status(path(missing)) == nil)
            #expect(try files.read(path(missing)) == nil)
            #expect(try files.list(path(missing)) == nil)
            try files.remove(path("none"))
        }
    }

    @Test func `a new file has its bytes, is private, and never replaces another`() throws {
        let content = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
        try files.create(path("new"), content)
        let read = try #require(try files.read(path("new")))
        #expect(read.bytes == content)
        #expect(read.status == (try files.status(path("new"))))
        #expect(read.status.permissions == 0o600 && read.status.size == 200_000 && read.status.isRegular && !read.status.isDirectory)
        let error = try #require(throws: FileError.self) { try files.create(path("new"), []) }
        #expect(error.number == EEXIST)
        #expect(try files.read(path("new"))?.bytes == content)
    }

    @Test func `a file of more than 1 GiB is refused before it is read`() throws {
        try files.create(path("sparse"), [])
        #expect(truncate(path("sparse"), 1 << 40) == 0)
        let error = try #require(throws: FileError.self) { _ = try files.read(path("sparse")) }
        #expect(error.number == EFBIG)
    }

    @Test func `a durable replacement keeps the permissions of the file and leaves no temporary file`() throws {
        try files.create(path("file"), [1])
        chmod(path("file"), 0o644)
        try files.replaceDurably(path("file"), with: [2, 3], temporaryName: "temporary")
        #expect(try files.read(path("file"))?.bytes == [2, 3])
        #expect(try files.status(path("file"))?.permissions == 0o644)
        #expect(try files.list(root) == ["file"])
        try files.replaceDurably(path("first"), with: [], temporaryName: "temporary")
        #expect(try files.status(path("first"))?.permissions == 0o600)
        #expect(try files.read(path("first"))?.bytes == [])
    }

    @Test func `a replacement that fails keeps the old bytes and reports the failure`() throws {
        try files.create(path("file"), [1])
        let long = try #require(throws: DurableReplaceError.self) {
            try files.replaceDurably(path("file"), with: [2], temporaryName: String(repeating: "x", count: 300))
        }
        #expect(long.error.number == ENAMETOOLONG && !long.mayBeReplaced)
        #expect(try files.read(path("file"))?.bytes == [1])
        try files.createDirectory(path("folder/inside"))
        let folder = try #require(throws: DurableReplaceError.self) {
            try files.replaceDurably(path("folder"), with: [2], temporaryName: "temporary")
        }
        #expect(folder.error.operation == "rename" && !folder.mayBeReplaced)
        #expect(try Set(files.list(root) ?? []) == ["file", "folder"], "the temporary file is gone")
    }

    @Test
    func `writing to the resolved path of a symbolic link replaces the target, and writing to the path of the link replaces the link`()
        throws
    {
        try files.createDirectory(path("real"))
        try files.create(path("real/file"), [1])
        #expect(symlink(path("real/file"), path("link")) == 0)
        #expect(files.resolve(path("link")) == files.resolve(path("real/file")))
        try files.replaceDurably(files.resolve(path("link")), with: [2], temporaryName: "temporary")
        #expect(try files.read(path("real/file"))?.bytes == [2])
        #expect(try files.read(path("link"))?.bytes == [2])
        try files.replaceDurably(path("link"), with: [3], temporaryName: "temporary")
        #expect(try files.read(path("real/file"))?.bytes == [2])
        #expect(try files.read(path("link"))?.bytes == [3])
    }

    @Test func `resolving a path follows the links in its existing part and keeps the rest unchanged`() throws {
        try files.createDirectory(path("real"))
        #expect(symlink(path("real"), path("link")) == 0)
        let real = files.resolve(path("real"))
        #expect(files.resolve(path("link/none/below")) == real + "/none/below")
        #expect(files.resolve(path("link/../real/none")) == real + "/none")
        #expect(files.resolve("/") == "/")
        #expect(files.resolve("/none-\(UUID().uuidString)").hasPrefix("/none-"))
    }

    @Test func `a symbolic link at the path of a new file or a lock is not followed`() throws {
        #expect(symlink(path("target"), path("link")) == 0)
        #expect(throws: FileError.self) { try files.create(path("link"), [1]) }
        #expect(throws: FileError.self) { _ = try files.lock(path("link")) { false } }
        #expect(try files.status(path("target")) == nil)
    }

    @Test func `a pipe or a folder at the path of a file is an error and blocks no caller`() throws {
        #expect(mkfifo(path("pipe"), 0o600) == 0)
        #expect(throws: FileError.self) { try files.read(path("pipe")) }
        #expect(try files.status(path("pipe"))?.isRegular == false)
        #expect(throws: FileError.self) { try files.read(root) }
    }

    @Test func `every change of a file changes its status`() throws {
        try files.create(path("file"), [1])
        var seen = [try #require(try files.status(path("file")))]
        func expectChange(_ what: Comment) throws {
            let status = try #require(try files.status(path("file")))
            #expect(!seen.contains(status), what)
            seen.append(status)
        }
        try files.replaceDurably(path("file"), with: [2], temporaryName: "temporary")
        try expectChange("another file of the same size")
        chmod(path("file"), 0o640)
        try expectChange("other permissions")
        let handle = try #require(FileHandle(forWritingAtPath: path("file")))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data([3]))
        try handle.close()
        try expectChange("more bytes")
    }

    @Test func `no new file gets the inode number of a file that is held open`() throws {
        try files.create(path("file"), [1])
        let held = try #require(try files.read(path("file")))
        for round in 0..<50 {
            try files.replaceDurably(path("file"), with: [1], temporaryName: "temporary")
            #expect(try files.status(path("file"))?.inode != held.status.inode, "round \(round)")
        }
        withExtendedLifetime(held.hold) {}
    }

    @Test func `folders are created with their parents, are private, and existing ones stay unchanged`() throws {
        try files.createDirectory(path("a/b/c"))
        for name in ["a", "a/b", "a/b/c"] {
            let status = try #require(try files.status(path(name)))
            #expect(status.isDirectory && status.permissions == 0o700)
        }
        chmod(path("a"), 0o755)
        try files.createDirectory(path("a"))
        try files.createDirectory(path("a/b/c"))
        #expect(try files.status(path("a"))?.permissions == 0o755)
        try files.create(path("file"), [])
        for blocked in ["file", "file/below"] { #expect(throws: FileError.self) { try files.createDirectory(path(blocked)) } }
    }

    @Test func `a symbolic link without a target does not count as a created folder`() throws {
        #expect(symlink(path("target"), path("link")) == 0)
        for blocked in ["link", "link/below"] { #expect(throws: FileError.self) { try files.createDirectory(path(blocked)) } }
        #expect(try files.status(path("target")) == nil)
    }

    @Test func `files are linked, renamed and removed`() throws {
        try files.create(path("one"), [1])
        try files.link(path("one"), to: path("two"))
        #expect(try files.status(path("one"))?.inode == files.status(path("two"))?.inode)
        let taken = try #require(throws: FileError.self) { try files.link(path("one"), to: path("two")) }
        #expect(taken.number == EEXIST)
        try files.rename(path("one"), to: path("three"))
        #expect(try Set(files.list(root) ?? []) == ["two", "three"])
        try files.remove(path("two"))
        try files.remove(path("two"))
        #expect(try files.list(root) == ["three"])
        try files.synchronizeFile(path("three"))
        try files.synchronizeDirectory(root)
        #expect(throws: FileError.self) { try files.synchronizeFile(path("none")) }
    }

    @Test func `a lock excludes others until it is released, and its file stays`() async throws {
        let lock = try files.lock(path("lock")) { false }
        #expect(try files.status(path("lock"))?.permissions == 0o600)
        #expect(try await isLockedForOthers(path("lock")))
        let attempts = Atomic(0)
        let error = try #require(throws: FileError.self) {
            _ = try files.lock(path("lock")) { attempts.add(1, ordering: .relaxed).newValue == 3 }
        }
        #expect(error.number == ETIMEDOUT && error.backendError().code == .timedOut)
        #expect(attempts.load(ordering: .relaxed) == 3)
        lock.release()
        lock.release()
        #expect(try await !isLockedForOthers(path("lock")))
        let inode = try files.status(path("lock"))?.inode
        let second = try files.lock(path("lock")) { true }
        #expect(try await isLockedForOthers(path("lock")))
        second.release()
        #expect(try files.status(path("lock"))?.inode == inode)
    }

    @Test func `a released lock goes to a waiting caller before its former holder can take it again`() async throws {
        // `lock` calls the closure `giveUp` only while its caller waits.
        // The closure opens the gate, so an open gate shows that the second caller is waiting.
        let path = path("lock")
        let first = try files.lock(path) { false }
        let order = Shared<[Int]>([])
        let asked = Gate()
        let second = Task.detached { [files] in
            let lock = try files.lock(path) {
                asked.open()
                return false
            }
            order.value.withLock { $0.append(2) }
            lock.release()
        }
        await asked.pass()
        first.release()
        // The first caller tries again without waiting. It must not get the lock back before the second caller had it.
        for _ in 0..<100 where order.value.withLock(\.isEmpty) {
            guard let again = try? files.lock(path, giveUp: { true }) else { continue }
            #expect(order.value.withLock { $0 } == [2], "the lock went back to the one that had released it")
            again.release()
        }
        try files.lock(path) { false }.release()
        try await second.value
        #expect(order.value.withLock { $0 } == [2])
    }

    @Test func `a caller that gives up waiting for a lock does not block later callers`() async throws {
        let path = path("lock")
        let first = try files.lock(path) { false }
        let asked = Atomic(0)
        #expect(throws: FileError.self) { _ = try files.lock(path) { asked.add(1, ordering: .relaxed).newValue == 2 } }
        first.release()
        for _ in 0..<3 { try files.lock(path) { false }.release() }
    }

    @Test func `callers that give up waiting for a lock do not use up the threads of the process`() throws {
        func threads() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count }
        let path = path("lock")
        let first = try files.lock(path) { false }
        let before = try threads()
        for _ in 0..<300 {
            let asked = Atomic(0)
            let error = #expect(throws: FileError.self) {
                _ = try files.lock(path) { asked.add(1, ordering: .relaxed).newValue == 2 }
            }
            #expect(error?.number == ETIMEDOUT)
        }
        #expect(try threads() < before + 150)
        first.release()
        try files.lock(path) { false }.release()
    }

    @Test func `a program that takes the lock with flock alone excludes this library, and is excluded by it`() async throws {
        let path = path("lock")
        try files.lock(path) { false }.release()
        let other = open(path, O_RDWR | O_CLOEXEC)
        defer { close(other) }
        #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
        #expect(throws: FileError.self) { _ = try files.lock(path) { true } }
        #expect(flock(other, LOCK_UN) == 0)
        let lock = try files.lock(path) { false }
        #expect(flock(other, LOCK_EX | LOCK_NB) != 0)
        lock.release()
        #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
    }

    @Test func `a lock is released even if a child process has its file open`() async throws {
        let lock = try files.lock(path("lock")) { false }
        // A fork gives the child another descriptor of the same open file.
        // Duplicating the descriptor has the same effect.
        let copies = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }.filter {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path("lock")
        }.map { dup($0) }
        defer { for copy in copies { close(copy) } }
        try #require(copies.count == 1)
        lock.release()
        #expect(try await !isLockedForOthers(path("lock")))
    }

    @Test func `a lock is released when its last reference is`() throws {
        do { _ = try files.lock(path("lock")) { false } }
        try files.lock(path("lock")) { true }.release()
    }

    @Test func `a watch reports changes of the watched names, and no changes of other names`() async throws {
        let files = files
        var changes = files.changes(of: ["first", "second"], in: root).makeAsyncIterator()
        try files.create(path("first"), [1])
        #expect(await changes.next() != nil)
        try files.replaceDurably(path("second"), with: [2], temporaryName: "temporary")
        #expect(await changes.next() != nil)
        try files.remove(path("second"))
        #expect(await changes.next() != nil)

        let told = Shared(0)
        let (stream, root) = (files.changes(of: ["last"], in: root), root)
        let counting = Task {
            for await _ in stream {
                told.count()
                if try files.status(root + "/last") != nil { return }
            }
        }
        for number in 0..<1_000 { try files.create(path("other \(number)"), []) }
        try files.create(path("last"), [])
        try await counting.value
        #expect(told.number <= 2, "changes of other names were reported")
    }

    @Test(.timeLimit(.minutes(2))) func `a folder is watched once it exists, and again after another folder replaces it`() async throws {
        let folder = path("above/folder")
        // The content of the file as seen by an observer that reads it after every notification.
        let (files, seen) = (files, Shared<[UInt8]?>(nil))
        let changes = files.changes(of: ["file"], in: folder)
        let observer = Task {
            for await _ in changes {
                let bytes = try files.read(folder + "/file")?.bytes
                seen.value.withLock { $0 = bytes }
            }
        }
        func expectSeen(_ bytes: [UInt8]) async throws {
            try files.replaceDurably(folder + "/file", with: bytes, temporaryName: "temporary")
            while seen.value.withLock(\.self) != bytes { try await Task.sleep(for: .milliseconds(2)) }
        }
        try files.createDirectory(folder)
        try await expectSeen([1])
        try files.rename(folder, to: path("above/aside"))
        try files.createDirectory(folder)
        try await expectSeen([2])
        try files.remove(folder + "/file")
        #expect(rmdir(folder) == 0)
        try files.createDirectory(folder)
        try await expectSeen([3])
        try files.rename(path("above"), to: path("aside"))
        try files.createDirectory(folder)
        try await expectSeen([4])
        observer.cancel()
        _ = await observer.result
    }

    @Test func `files that root creates or replaces in the folder of a user belong to that user`() throws {
        // Without root rights, the test uses its own user.
        let user = geteuid() == 0 ? 65_534 : geteuid()
        try files.createDirectory(path("home"))
        try files.create(path("home/list"), [1])
        for name in ["home", "home/list"] { #expect(chown(path(name), user, gid_t.max) == 0) }
        #expect(chmod(path("home/list"), 0o640) == 0)

        try files.replaceDurably(path("home/list"), with: [2], temporaryName: "temporary")
        try files.replaceDurably(path("home/new"), with: [3], temporaryName: "temporary")
        try files.createDirectory(path("home/above/below"))
        try files.lock(path("home/above/lock")) { true }.release()
        for name in ["home/list", "home/new", "home/above", "home/above/below", "home/above/lock"] {
            #expect(try files.status(path(name))?.owner == user, "\(name)")
        }
        #expect(try files.status(path("home/list"))?.permissions == 0o640)
        #expect(try files.status(path("home/new"))?.permissions == 0o600)
        #expect(try files.read(path("home/list"))?.bytes == [2])
        // A file of root in a folder of root keeps its owner.
        // `create` never changes the owner, because it also makes files outside a store, such as exports.
        for name in ["root's", "home/export"] {
            try files.create(path(name), [])
            #expect(try files.status(path(name))?.owner == geteuid())
        }
    }

    @Test func `system error numbers map to error codes`() {
        for (number, code) in [
            (EACCES, "accessDenied"), (EROFS, "accessDenied"), (ENOSPC, "noSpace"), (EDQUOT, "noSpace"), (EFBIG, "noSpace"),
            (EIO, "failed"),
            (EMFILE, "unavailable"), (ENFILE, "unavailable"), (ENOMEM, "unavailable"),
        ] {
            let error = FileError(number: number, operation: "write", path: "/x").backendError(outcome: .unknown)
            #expect(error.code.name == code && error.outcome == .unknown)
            #expect(error.reason.contains("/x"))
        }
    }

    /// Returns whether another process, util-linux's `flock`, fails to take the lock.
    private func isLockedForOthers(_ path: String) async throws -> Bool {
        try await run("flock", ["--nonblock", path, "true"]).status != 0
    }
}
