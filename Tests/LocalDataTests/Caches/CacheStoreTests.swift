import BackendContract
import Foundation
import LocalDataCaches
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// Tests of the stores of caches, and of the collections that a cache refuses.
@Suite(.inTurn) struct CacheStoreTests {
    #if SQLite
        @Test func `a cache is in the folder of the caches, and the data folder has no file of it`() async throws {
            let folder = try TemporaryDirectory()
            let (storage, cache) = try open(folder)
            try await cache.set(CachedPage(id: "001"))
            try await storage.shutdown()
            #expect(FileManager.default.fileExists(atPath: folder.file("caches/web.sqlite")))
            let data = FileManager.default.subpaths(atPath: folder.file("data")) ?? []
            #expect(!data.contains { $0.hasSuffix(".sqlite") })
            #expect(try await open(folder).cache.value("001") != nil)
        }

        @Test func `a cache whose folder was deleted is empty and can be used`() async throws {
            let folder = try TemporaryDirectory()
            let (_, cache) = try open(folder)
            try await cache.set(CachedPage(id: "001"))
            try FileManager.default.removeItem(atPath: folder.file("caches"))
            try await cache.set(CachedPage(id: "002"))
            #expect(try await cache.value("001") == nil)
            #expect(try await cache.value("002") != nil)
            #expect(try await cache.statistics.count == 1)
            #expect(try await open(folder).cache.value("002") != nil)
        }

        @Test func `a cache whose database is damaged is empty and can be used`() async throws {
            let folder = try TemporaryDirectory()
            let (storage, cache) = try open(folder)
            try await cache.set(CachedPage(id: "001"))
            try await storage.shutdown()
            try Data("no database".utf8).write(to: URL(fileURLWithPath: folder.file("caches/web.sqlite")))
            let (_, next) = try open(folder)
            #expect(try await next.value("001") == nil)
            try await next.set(CachedPage(id: "002"))
            #expect(try await next.value("002") != nil)
        }

        @Test func `a wrong passphrase does not discard a cache, and the right one finds its values`() async throws {
            let folder = try TemporaryDirectory()
            func open(_ passphrase: String) throws -> (storage: StorageRouter, cache: StorageCache<CachedPage>) {
                var configuration = StorageConfiguration(root: URL(fileURLWithPath: folder.path), applicationID: "app")
                configuration.deadlines.files = .seconds(120)
                configuration.keySource = .passphrase()
                configuration.scryptCost = .tooCheapForAnythingButTests(logN: 4)
                configuration.passphrase = { _ in passphrase }
                let storage = StorageRouter(configuration: configuration)
                return (storage, try CacheBench().cache(.count(10), in: storage))
            }
            let (first, cache) = try open("correct horse")
            try await cache.set(CachedPage(id: "001", text: "kept"))
            try await first.shutdown()
            let (second, mistyped) = try open("correct house")
            await #expect { try await mistyped.value("001") } throws: { StorageError.encryptionKeyMismatch ~= $0 }
            #expect(try await mistyped.value("001") { CachedPage(id: "001", text: "computed") }.text == "computed")
            try await second.shutdown()
            #expect(try await open("correct horse").cache.value("001")?.text == "kept")
        }

        @Test func `two processes with one database keep its limit together`() async throws {
            let folder = try TemporaryDirectory()
            let caches = [try open(folder, .count(5)).cache, try open(folder, .count(5)).cache]
            for number in 0..<20 { try await caches[number % 2].set(CachedPage(id: CacheBench.id(number))) }
            let third = try open(folder, .count(100)).cache
            #expect(try await third.statistics.count == 5)
            for number in 15..<20 { #expect(try await third.contains(CacheBench.id(number))) }
        }

        @Test func `a folder for caches that the program lists is used, and without one a cache is refused`() async throws {
            let folder = try TemporaryDirectory()
            let listed = StorageDirectories(
                preferences: folder.file("p"), data: folder.file("d"), state: folder.file("s"), locks: folder.file("l"))
            let refused = try cache(StorageConfiguration(directories: listed, applicationID: "app"))
            await #expect { try await refused.set(CachedPage(id: "001")) } throws: { StorageError.unavailable ~= $0 }
            let named = try cache(StorageConfiguration(directories: listed.caching(in: folder.file("c")), applicationID: "app"))
            try await named.set(CachedPage(id: "001"))
            #expect(FileManager.default.fileExists(atPath: folder.file("c/web.sqlite")))
        }

        @Test func `forgetting everything destroys the caches`() async throws {
            let folder = try TemporaryDirectory()
            let (storage, cache) = try open(folder)
            try await cache.set(CachedPage(id: "001"))
            try await storage.forgetEverything()
            #expect(!FileManager.default.fileExists(atPath: folder.file("caches/web.sqlite")))
            #expect(try await open(folder).cache.value("001") == nil)
        }

        @Test func `forgetting everything removes a link in the folder of the caches, and its target stays`() async throws {
            let folder = try TemporaryDirectory()
            let (storage, cache) = try open(folder)
            try await cache.set(CachedPage(id: "001"))
            try Data("theirs".utf8).write(to: URL(fileURLWithPath: folder.file("theirs")))
            let link = folder.file("caches/other.sqlite")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.file("theirs"))
            try await storage.forgetEverything()
            #expect(FileManager.default.contents(atPath: folder.file("theirs")) == Data("theirs".utf8))
            #expect(throws: (any Error).self) { try FileManager.default.destinationOfSymbolicLink(atPath: link) }
            #expect(!FileManager.default.fileExists(atPath: folder.file("caches/web.sqlite")))
        }

        @Test func `a subfolder of the caches does not stop forgetting, and it stays`() async throws {
            let folder = try TemporaryDirectory()
            let (storage, cache) = try open(folder)
            try await cache.set(CachedPage(id: "001"))
            let theirs = folder.file("caches/old.sqlite.d")
            try FileManager.default.createDirectory(atPath: theirs, withIntermediateDirectories: true)
            try await storage.forgetEverything()
            #expect(FileManager.default.fileExists(atPath: theirs))
            #expect(!FileManager.default.fileExists(atPath: folder.file("caches/web.sqlite")))
            #expect(try await open(folder).cache.value("001") == nil)
        }

        @Test func `a cache completes the forgetting of a killed process before its first read`() async throws {
            let folder = try TemporaryDirectory()
            let (storage, cache) = try open(folder)
            try await cache.set(CachedPage(id: "001", text: "forgotten"))
            try await storage.shutdown()
            // The mark of a call of `forgetEverything()` that was killed before it destroyed a file.
            let mark = folder.file("data/forget.json")
            try FileManager.default.createDirectory(atPath: folder.file("data"), withIntermediateDirectories: true)
            try Data("{}".utf8).write(to: URL(fileURLWithPath: mark))
            let next = try open(folder).cache
            #expect(try await next.value("001") { CachedPage(id: "001", text: "new") }.text == "new")
            #expect(!FileManager.default.fileExists(atPath: mark))
            #expect(try await next.value("001")?.text == "new")
        }

        @Test(arguments: ["databases", "vaults"])
        func `a folder for caches that has other databases is refused, and they stay`(_ name: String) async throws {
            let folder = try TemporaryDirectory()
            let listed = StorageDirectories(
                preferences: folder.file("p"), data: folder.file("d"), state: folder.file("s"), locks: folder.file("l"))
            let path = folder.file("d/\(name)/web.sqlite")
            try FileManager.default.createDirectory(atPath: folder.file("d/\(name)"), withIntermediateDirectories: true)
            try Data("a damaged database that can be salvaged".utf8).write(to: URL(fileURLWithPath: path))
            let directories = listed.caching(in: folder.file("d/../d/\(name)"))
            let refused = try self.cache(StorageConfiguration(directories: directories, applicationID: "app"))
            await #expect { try await refused.set(CachedPage(id: "001")) } throws: { StorageError.unavailable ~= $0 }
            #expect(FileManager.default.contents(atPath: path)?.isEmpty == false)
            #expect(try await refused.value("001") { CachedPage(id: "001", text: "new") }.text == "new")
            #expect(FileManager.default.contents(atPath: path) == Data("a damaged database that can be salvaged".utf8))
        }

        private func open(
            _ folder: TemporaryDirectory, _ limit: CacheLimit = .count(10)
        ) throws -> (storage: StorageRouter, cache: StorageCache<CachedPage>) {
            var configuration = StorageConfiguration(root: URL(fileURLWithPath: folder.path), applicationID: "app")
            configuration.deadlines.files = .seconds(120)
            let storage = StorageRouter(configuration: configuration)
            return (storage, try CacheBench().cache(limit, in: storage))
        }

        private func cache(_ configuration: StorageConfiguration) throws -> StorageCache<CachedPage> {
            try CacheBench().cache(.count(10), in: StorageRouter(configuration: configuration))
        }
    #endif

    // MARK: Refusals

    @Test func `a collection with a legacy location is refused`() throws {
        var bench = CacheBench()
        let older = StorageCollection<CachedPage>("older", domain: .encryptedSQLite(database: "web"))
        bench.collection = bench.collection.moved(from: older)
        let moved = bench
        #expect { try moved.cache(.count(1)) } throws: { StorageError.unsupported ~= $0 }
        let list = StorageKey<[CachedPage]>(name: "pages", domain: .userDefaults)
        bench.collection = CacheBench().collection.moved(from: list) { $0 }
        let split = bench
        #expect { try split.cache(.count(1)) } throws: { StorageError.unsupported ~= $0 }
    }

    @Test(arguments: [CacheLimit.count(0), .bytes(0), .bytes(-1), .bytes(1, count: 0)])
    func `a limit that is not positive is refused`(limit: CacheLimit) throws {
        #expect { try CacheBench().cache(limit) } throws: { StorageError.unsupported ~= $0 }
    }

    @Test(arguments: [StorageDomain.keychain, .userDefaults, .custom("folder", scope: "a")])
    func `a collection in a store without caches is refused`(domain: StorageDomain) throws {
        var bench = CacheBench()
        bench.collection = StorageCollection("pages", domain: domain)
        let refused = bench
        #expect { try refused.cache(.count(1)) } throws: { StorageError.unsupported ~= $0 }
    }

    @Test func `a collection without registration is refused if keys must be registered`() async throws {
        var bench = CacheBench()
        bench.configuration.requiresRegistration = true
        let storage = bench.launch()
        let strict = bench
        #expect { try strict.cache(.count(1), in: storage) } throws: { StorageError.unregisteredKey ~= $0 }
        try await storage.registerCatalog(TestCatalog(.collection(bench.collection)))
        let cache = try bench.cache(.count(1), in: storage)
        #expect(try await cache.set(CachedPage(id: "001")))
    }

    @Test(arguments: ["", "a\nb"]) func `an id that is no name of a key is refused`(id: String) async throws {
        let cache = try CacheBench().cache(.count(1))
        await #expect { try await cache.value(id) } throws: { StorageError.invalidName ~= $0 }
        await #expect { try await cache.set(CachedPage(id: "001"), for: id) } throws: { StorageError.invalidName ~= $0 }
    }
}
