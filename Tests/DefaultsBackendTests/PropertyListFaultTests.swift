import BackendContract
import BackendRuntime
import DefaultsBackend
import Foundation
import Synchronization
import TestSupport
import Testing

/// Tests of killed processes, failing disks, damaged files, held locks and missing rights.
@Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct PropertyListFaultTests {
    let scratch: Scratch
    let damage = Array("<?xml version=\"1.0\"?><plist version=\"1.0\"><dict><key>a</key>".utf8)

    init() throws { scratch = try Scratch() }

    // MARK: Killed in the middle

    @Test(arguments: [HookedFiles.Fault.stops, .stopsAfter, .fails(EIO), .failsAfter(EIO)])
    func `after a fault at any file operation the file is entirely old or new, and the next writer succeeds`(
        _ fault: HookedFiles.Fault
    ) async throws {
        var number = 1
        while true {
            let scratch = try Scratch()
            let setup = scratch.store()
            _ = try await setup.apply([.put(.text("old"), at: StorageAddress("a")), .put(.text("kept"), at: StorageAddress("b"))])
            let files = HookedFiles()
            files.arm(fault, at: number)
            let store = scratch.store(.live(files: files))
            let result = try await store.apply([.put(.text("new"), at: StorageAddress("a")), .delete(StorageAddress("b"))])[0]
            let isComplete = files.operations.count < number
            files.arm(nil)
            let found = try await scratch.store().read([StorageAddress("a"), StorageAddress("b")], .fresh)
            let (isOld, isNew) = (found[0].text == "old" && found[1].text == "kept", found[0].text == "new" && found[1] == .absent)
            #expect(isOld || isNew, "at \(number): a torn batch")
            switch result {
            case .applied: #expect(isNew, "at \(number): acknowledged and not there")
            case .failed(let error) where error.outcome == .notApplied: #expect(isOld, "at \(number): reported as not applied, but applied")
            case .failed(let error): #expect(error.outcome == .unknown, "at \(number)")
            default: Issue.record("at \(number): \(result)")
            }
            // The store that had the fault and a new store both read the file correctly and can write to it.
            #expect(try await store.read([StorageAddress("a"), StorageAddress("b")], .validated) == found)
            #expect(try await scratch.store().apply(.put(.text("next"), at: StorageAddress("a"))).isApplied)
            #expect(try scratch.names(in: scratch.root + "/config") == ["suite.plist"], "at \(number): leftovers remain")
            if isComplete { break }
            number += 1
        }
        print("killed at each of \(number - 1) operations")
        #expect(number > 4)
    }

    @Test func `after a process is killed while writing, the file has its last acknowledged write or the complete next one`() async throws {
        let path = scratch.path("killed")
        for round in 1...12 {
            let probe = try RunningProgram(worker: "defaults", ["serve", path, "n"])
            await probe.wait(forLines: round)
            let lines = await probe.kill()
            let acknowledged = try #require(lines.last.flatMap { Int64($0) })
            let found = try await scratch.store(suite: "killed").read([StorageAddress("n"), StorageAddress("n'")], .fresh)
            guard case .integer(let number)? = found[0].native else {
                Issue.record("round \(round): \(found[0])")
                return
            }
            #expect((acknowledged...(acknowledged + 1)).contains(number), "round \(round)")
            #expect(found[1].native == .integer(-number), "round \(round): half a batch")
        }
    }

    @Test(arguments: [(ENOSPC, BackendError.Code.noSpace), (EROFS, .accessDenied), (EIO, .failed)])
    func `a write that fails before it replaces the file reports the reason and changes nothing`(
        _ number: Int32, _ code: BackendError.Code
    ) async throws {
        let files = HookedFiles()
        let store = scratch.store(.live(files: files))
        _ = try await store.apply(.put(.text("old"), at: StorageAddress("a")))
        let before = try fileBytes(scratch.path())
        files.arm(nil)
        _ = try await store.apply(.put(.text("old"), at: StorageAddress("a")))
        let creation = try #require(files.operations.firstIndex(of: "create")) + 1
        for step in creation...(creation + 2) {
            files.arm(.fails(number), at: step)
            let error = try #require(try await store.apply(.put(.text("new"), at: StorageAddress("a"))).error)
            #expect(error.code == code)
            #expect(error.outcome == .notApplied)
            #expect(try await store.read(StorageAddress("a")).text == "old")
        }
        #expect(try fileBytes(scratch.path()).count == before.count)
        files.arm(.fails(number), at: creation + 3)
        #expect(try await store.apply(.put(.text("new"), at: StorageAddress("a"))).error?.outcome == .unknown)
        #expect(try await store.read(StorageAddress("a")).text == "new")
    }

    @Test func `a refused call does not fail the other calls that share its rewrite of the file`() async throws {
        let lane = TestLane(isHeld: true)
        let store = scratch.store(.live(lane: lane))
        async let good = store.apply(.put(.text("x"), at: StorageAddress("good")))
        async let bad = store.apply(.put(.text("x"), at: StorageAddress("bad"), if: .revision(StorageRevision([1]))))
        await lane.untilHeld(1)
        lane.release()
        #expect(try await good.isApplied)
        guard case .conflict(.absent) = try await bad else {
            Issue.record("an unknown revision was accepted")
            return
        }
    }

    // MARK: Damage

    @Test func `a damaged file is kept, copied once, reported and never overwritten`() async throws {
        try scratch.write(damage, to: scratch.path())
        let files = HookedFiles()
        let store = scratch.store(.live(files: files, clock: ManualClock(.inRealTime)))
        for freshness in [ReadFreshness.validated, .validated, .fresh] {
            for probe in try await store.read([StorageAddress("a"), StorageAddress("b")], freshness) {
                let corruption = try #require(probe.corruption, "damage was reported as \(probe)")
                #expect(corruption.bytes == damage)
                #expect(corruption.revision == nil)
            }
        }
        for mutation in [
            StorageMutation.put(.text("x"), at: StorageAddress("a")), .delete(StorageAddress("a")), .tombstone(at: StorageAddress("z")),
        ] {
            let error = try #require(try await store.apply(mutation).error)
            #expect(error.code == .corrupted)
            #expect(error.outcome == .notApplied)
            #expect(error.reason.contains("localdata damaged set-aside"))
        }
        let error = try await #require(store.status().error, "a damaged store counts as usable")
        #expect(error.code == .corrupted)
        await #expect(throws: BackendError.self) { _ = try await store.addresses(in: .values) }
        #expect(try fileBytes(scratch.path()) == damage)
        let copies = try scratch.names(in: scratch.quarantine)
        #expect(copies.count == 1)
        #expect(copies[0].hasPrefix("suite-"))
        #expect(try fileBytes(scratch.quarantine + "/" + copies[0]) == damage)
        #expect(files.count("create") == 1)
    }

    @Test func `setting a damaged file aside keeps a copy and lets the store start over`() async throws {
        let store = scratch.store(.live(clock: ManualClock(.inRealTime)))
        _ = try await store.apply(.put(.text("x"), at: StorageAddress("a")))
        await #expect(throws: BackendError.self) { _ = try await store.setAsideDamagedStore() }
        #expect(try await store.read(StorageAddress("a")).text == "x")
        try scratch.write(damage, to: scratch.path())
        let copy = try await store.setAsideDamagedStore()
        #expect(try fileBytes(copy) == damage)
        #expect(!FileManager.default.fileExists(atPath: scratch.path()))
        #expect(try await store.read(StorageAddress("a")) == .absent)
        #expect(await store.status() == .ready)
        #expect(try await store.apply(.put(.text("y"), at: StorageAddress("a"))).isApplied)
    }

    @Test func `reads copy at most 16 damaged states of a list, and a state that is set aside is always copied`() async throws {
        let store = scratch.store(.live(clock: ManualClock(.inRealTime)))
        for number in 0..<20 {
            try scratch.write(damage + [UInt8(number)], to: scratch.path())
            #expect(try await store.read(StorageAddress("a")).corruption != nil)
        }
        #expect(try scratch.names(in: scratch.quarantine).count == 16)
        try scratch.write(damage, to: scratch.path("other"))
        let other = scratch.store(.live(clock: ManualClock(.inRealTime)), suite: "other")
        #expect(try await other.read(StorageAddress("a")).corruption != nil)
        #expect(try scratch.names(in: scratch.quarantine).count == 17, "the copies of one list keep another from being copied")
        let copy = try await store.setAsideDamagedStore()
        #expect(try fileBytes(copy) == damage + [19])
        #expect(try scratch.names(in: scratch.quarantine).count == 18)
    }

    @Test func `a copy of a damaged list removes what killed processes left an hour ago`() async throws {
        let digits = String(repeating: "a", count: 32)
        let left = ["suite", "suite-b"].map { ".\($0)-\(digits).plist.localdata-0011223344556677.tmp" }
        let foreign = ".suite-\(digits).plist.localdata-0011.tmp"
        for name in left + [foreign] { try scratch.write(damage, to: "\(scratch.quarantine)/\(name)") }
        try scratch.write(damage, to: scratch.path())
        let clock = ManualClock(.inRealTime)
        #expect(try await scratch.store(.live(clock: clock)).read(StorageAddress("a")).corruption != nil)
        #expect(try left.allSatisfy(scratch.names(in: scratch.quarantine).contains), "the file of a running process was removed")
        let hourAgo = Date(timeIntervalSince1970: clock.wallSeconds - 3_700)
        for name in left + [foreign] {
            try FileManager.default.setAttributes([.modificationDate: hourAgo], ofItemAtPath: "\(scratch.quarantine)/\(name)")
        }
        try scratch.write(damage + [1], to: scratch.path())
        #expect(try await scratch.store(.live(clock: clock)).read(StorageAddress("a")).corruption != nil)
        let names = try scratch.names(in: scratch.quarantine).filter { $0.hasPrefix(".") }
        #expect(Set(names) == [left[1], foreign], "the file of another list was removed, or a left one stays")
    }

    @Test func `a damaged file is not removed while no copy of it can be made`() async throws {
        try scratch.write(damage, to: scratch.path())
        try scratch.write([1], to: scratch.quarantine)
        let store = scratch.store(.live(clock: ManualClock(.inRealTime)))
        await #expect(throws: BackendError.self) { _ = try await store.setAsideDamagedStore() }
        #expect(try fileBytes(scratch.path()) == damage)
        #expect(try await store.read(StorageAddress("a")).corruption != nil, "damage that cannot be copied was not reported")
    }

    @Test func `a repaired file is used again`() async throws {
        try scratch.write(damage, to: scratch.path())
        let store = scratch.store(.live(clock: ManualClock(.inRealTime)))
        _ = try await store.read(StorageAddress("a"))
        try scratch.writeForeign(["a": "repaired"])
        #expect(try await store.read(StorageAddress("a")).text == "repaired")
    }

    @Test func `an incomplete file that another program is still rewriting is read again instead of being reported as damaged`()
        async throws
    {
        let whole = try Scratch.propertyList(["a": "new"])
        for cut in [0, 1, whole.count / 2, whole.count - 10] {
            let scratch = try Scratch()
            try scratch.write(Array(whole[..<cut]), to: scratch.path())
            let pauses = Mutex(0)
            let path = scratch.path()
            let clock = ManualClock(.inRealTime) { _ in
                // The store pauses before it reads an incomplete file again.
                // The other program finishes its write in the third pause.
                if pauses.withLock({
                    $0 += 1; return $0
                }) == 3 {
                    try? Data(whole).write(to: URL(fileURLWithPath: path))
                }
            }
            #expect(try await scratch.store(.live(clock: clock)).read(StorageAddress("a")).text == "new")
            #expect(pauses.withLock { $0 } == 3)
            #expect(!FileManager.default.fileExists(atPath: scratch.quarantine))
        }
    }

    @Test func `a read waits only until its deadline for another program to complete a damaged file`() async throws {
        try scratch.write(damage, to: scratch.path())
        // Only the pauses of the store advance this clock.
        let store = scratch.store(.live(clock: ManualClock()), deadline: .milliseconds(100))
        #expect(try await store.read(StorageAddress("a")).error != nil, "no damage was reported at the deadline")
    }

    // MARK: Locks and rights

    @Test func `a lock that is never released causes a time-out, and nothing is applied`() async throws {
        let (store, impatient) = (scratch.store(), scratch.store(deadline: .milliseconds(200)))
        _ = try await store.apply(.put(.text("x"), at: StorageAddress("a")))
        let lock = try PosixFileSystem().lock(scratch.lockPath()) { true }
        let error = await #expect(throws: BackendError.self) { _ = try await impatient.apply(.put(.text("y"), at: StorageAddress("a"))) }
        #expect(error?.code == .timedOut)
        #expect(error?.outcome == .notApplied)
        #expect(try await store.read(StorageAddress("a")).text == "x", "reading needs no lock")
        lock.release()
        #expect(try await store.apply(.put(.text("y"), at: StorageAddress("a"))).isApplied)
    }

    @Test func `the lock file is never removed`() async throws {
        let store = scratch.store()
        for text in ["1", "2"] { _ = try await store.apply(.put(.text(text), at: StorageAddress("a"))) }
        await store.close()
        #expect(FileManager.default.fileExists(atPath: scratch.lockPath()))
        #expect(try await store.read(StorageAddress("a")).text == "2")
    }

    @Test func `an unreadable file is unavailable, not absent`() async throws {
        let path = scratch.path("secret")
        try scratch.writeForeign(["a": 1], suite: "secret")
        try setPermissions(0o000, of: path)
        let run = try await scratch.probe("look", path, "a", isUnprivileged: true)
        #expect(run.output == "probe=unavailable accessDenied\nput=failed accessDenied notApplied")
    }

    @Test func `a directory without search permission is unavailable, not absent`() async throws {
        let path = scratch.path("hidden")
        try scratch.writeForeign(["a": 1], suite: "hidden")
        let folder = scratch.root + "/config"
        try setPermissions(0o000, of: folder)
        defer { try? setPermissions(0o755, of: folder) }
        let run = try await scratch.probe("look", path, "a", isUnprivileged: true)
        #expect(run.output == "probe=unavailable accessDenied\nput=failed accessDenied notApplied")
    }

    @Test func `a list in a read-only directory can be read but not written`() async throws {
        let path = scratch.path("fixed")
        try scratch.writeForeign(["a": 1], suite: "fixed")
        try setPermissions(0o644, of: path)
        let folder = scratch.root + "/config"
        try setPermissions(0o555, of: folder)
        defer { try? setPermissions(0o755, of: folder) }
        let run = try await scratch.probe("look", path, "a", isUnprivileged: true)
        #expect(run.output == "probe=value\nput=failed accessDenied notApplied")
    }

    @Test func `a list behind a symbolic link without a target is unavailable, and the link stays`() async throws {
        try FileManager.default.createDirectory(atPath: scratch.root + "/config", withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: scratch.path(), withDestinationPath: scratch.root + "/unmounted/real.plist")
        let store = scratch.store()
        for freshness in [ReadFreshness.validated, .fresh] {
            let error = try await #require(
                store.read([StorageAddress("a")], freshness)[0].error, "an unreadable file was reported as absent")
            #expect(error.code == .unavailable)
        }
        #expect(try await store.apply(.put(.text("x"), at: StorageAddress("a"))).error?.outcome == .notApplied)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: scratch.path()).hasSuffix("real.plist"))
        try scratch.write(try Scratch.propertyList(["a": "found"]), to: scratch.root + "/unmounted/real.plist")
        #expect(try await store.read(StorageAddress("a")).text == "found")
    }

    @Test func `a list in a folder behind a symbolic link without a target is unavailable, and the link stays`() async throws {
        let (folder, disk) = (scratch.root + "/config", scratch.root + "/unmounted")
        try FileManager.default.createSymbolicLink(atPath: folder, withDestinationPath: disk)
        let store = scratch.store()
        for freshness in [ReadFreshness.validated, .fresh] {
            let error = try await #require(
                store.read([StorageAddress("a")], freshness)[0].error, "an unreadable file was reported as absent")
            #expect(error.code == .unavailable)
            #expect(error.reason.contains("\(folder) is missing"))
        }
        #expect(try await store.apply(.delete(StorageAddress("a"))).error?.code == .unavailable)
        #expect(try await store.apply(.put(.text("x"), at: StorageAddress("a"))).error?.outcome == .notApplied)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder) == disk)
        try scratch.write(try Scratch.propertyList(["a": "found"]), to: disk + "/suite.plist")
        #expect(try await store.read(StorageAddress("a")).text == "found")
    }

    @Test func `a refused call is reported as not applied, even if the outcome of its group of calls is unknown`() async throws {
        let (files, lane) = (HookedFiles(), TestLane(isHeld: true))
        _ = try await scratch.store().apply(.put(.text("old"), at: StorageAddress("a")))
        let store = scratch.store(.live(files: files, lane: lane))
        files.fail("synchronizeDirectory")
        async let refused = store.apply(.put(.text("x"), at: StorageAddress("b"), if: .revision(StorageRevision([1]))))
        async let written = store.apply(.put(.text("new"), at: StorageAddress("a")))
        await lane.untilHeld(1)
        lane.release()
        let (first, second) = try await (refused, written)
        #expect(files.operations.last == "synchronizeDirectory")
        #expect(second.error?.outcome == .unknown)
        // The two calls may also run in two groups, so that only the second group fails.
        // The refused call then has the result `conflict` instead of an error.
        #expect(first.error.map { $0.outcome == .notApplied } ?? !first.isApplied)
    }

    @Test func `a directory or a pipe at the path of the list is an error, not an absent value`() async throws {
        try FileManager.default.createDirectory(atPath: scratch.path(), withIntermediateDirectories: true)
        #expect(try await scratch.store().read(StorageAddress("a")).error != nil, "a directory was read")
        #expect(try await scratch.store().apply(.put(.text("x"), at: StorageAddress("a"))).isApplied == false)
        #expect(mkfifo(scratch.path("pipe"), 0o600) == 0)
        #expect(try await scratch.store(suite: "pipe").read(StorageAddress("a")).error != nil, "a pipe was read")
    }
}
