#if PostgreSQL && os(Linux)
    import BackendContract
    import Foundation
    import PostgreSQLBackend
    import TestSupport
    import Testing

    /// Tests of a server whose disk is full. They mount a small file system, and need root for that.
    @Suite(.timeLimit(.minutes(10))) struct FullDiskTests {
        /// A small file system in memory, which is unmounted with the object.
        private final class SmallDisk: Sendable {
            let folder: TemporaryDirectory
            var path: String { folder.file("disk") }

            init(megabytes: Int) async throws {
                folder = try TemporaryDirectory()
                _ = try folder.folder("disk")
                chmod(folder.path, 0o711)
                guard geteuid() == 0 else { throw ProgramFailure("Run this search as root: it mounts a file system.") }
                try await Self.mount(["-t", "tmpfs", "-o", "size=\(megabytes)m,mode=700,uid=65534,gid=65534", "tmpfs", path])
            }

            func grow(toMegabytes size: Int) async throws { try await Self.mount(["-o", "remount,size=\(size)m", path]) }

            private static func mount(_ arguments: [String]) async throws {
                let result = try await run("mount", arguments)
                guard result.status == 0 else { throw ProgramFailure("mount: \(result.stderr)") }
            }

            deinit { umount2(path, Int32(MNT_DETACH)) }
        }

        private func address(_ number: Int) -> StorageAddress { StorageAddress("value \(number)") }

        /// Random bytes, because the server compresses others.
        private let large: [UInt8] = {
            var generator = SeededGenerator(1)
            return (0..<100_000).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        }()

        /// Stores values until one is refused. Returns the number of acknowledged values, and the refusal.
        private func fill(_ store: PostgreSQLStore) async throws -> (count: Int, refusal: BackendError) {
            for number in 0..<10_000 {
                let result: MutationResult
                do throws(BackendError) { result = try await store.apply(.put(.bytes(large), at: address(number))) } catch {
                    return (number, error)
                }
                if case .failed(let error) = result { return (number, error) }
                guard result.isApplied else { throw ProgramFailure("\(result)") }
            }
            throw ProgramFailure("The disk was never full.")
        }

        @Test func `a full disk of the tables refuses writes, and every acknowledged value is stored`() async throws {
            let disk = try await SmallDisk(megabytes: 8)
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            let store = place.store()
            _ = try await store.apply(.put(.bytes([1]), at: StorageAddress("first")))
            try await place.server.sql("CREATE TABLESPACE small LOCATION '\(disk.path)'")
            try await place.server.sql("ALTER TABLE tests.records SET TABLESPACE small")
            let (count, refusal) = try await fill(store)
            #expect(count > 20 && refusal.code == .noSpace && refusal.outcome == .notApplied, "\(count) \(refusal)")
            for number in 0..<count { #expect(try await store.read(address(number)).record?.payload == .bytes(large)) }
            #expect(try await store.read(address(count)) == .absent)
            try await disk.grow(toMegabytes: 32)
            #expect(try await store.apply(.put(.bytes(large), at: address(count))).isApplied)
        }

        @Test func `a full disk of the write-ahead log ends the server, and every acknowledged value is stored`() async throws {
            let disk = try await SmallDisk(megabytes: 96)
            let data = "\(disk.path)/data"
            let server = try await PrivatePostgreSQL(["max_wal_size=1GB", "checkpoint_timeout=1h"], data: data)
            let place = try await TestDatabase(on: server)
            let (count, refusal) = try await fill(place.store(deadline: .seconds(20)))
            #expect(count > 20, "\(refusal)")
            try await server.kill()
            try await disk.grow(toMegabytes: 512)
            try await server.start()
            let store = place.store()
            for number in 0..<count { #expect(try await store.read(address(number)).record?.payload == .bytes(large)) }
            #expect(try await store.apply(.put(.bytes([2]), at: address(count))).isApplied)
        }
    }
#endif
