#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import Sealing
    import TestSupport
    import Testing

    /// Tests of databases under the same key that were exchanged.
    /// The context of a database consists of its application, its kind of store and its name. Adopting gives it a new context.
    @Suite(.inTurn) struct ContextTests {
        private let folder: TemporaryDirectory
        private let keyFile: String

        init() throws {
            folder = try TemporaryDirectory()
            keyFile = try folder.folder("keys") + "/key"
            try writeFile(AttackTarget.key.text + "\n", to: keyFile)
        }

        private static let bank = StoreContext(application: "com.example", kind: "sqlite", scope: "bank")
        private static let others = [
            StoreContext(application: "com.example", kind: "sqlite", scope: "chat"),
            StoreContext(application: "com.example", kind: "vault", scope: "bank"),
            StoreContext(application: "com.other", kind: "sqlite", scope: "bank"),
            StoreContext(application: "com.example", kind: "", scope: "sqlitebank"),
        ]

        private func store(_ context: StoreContext, at path: String) -> SQLiteStore {
            sqliteStore(at: path, context: context, source: KeyFileSource(path: keyFile, deadline: .seconds(60), runtime: .live))
        }

        /// Makes a database of a context with one value, and closes it.
        private func make(_ context: StoreContext, at path: String) async throws {
            let store = store(context, at: path)
            try await store.put("of \(context)", at: "name")
            await store.close()
        }

        @Test(arguments: others)
        func `a database that was put at the path of another one is refused and not changed, and the error has both contexts`(
            _ other: StoreContext
        ) async throws {
            let path = folder.file("a.sqlite")
            try await make(Self.bank, at: path)
            let before = try Data(contentsOf: URL(filePath: path))
            let store = store(other, at: path)
            for probe in try await store.probes([StorageAddress("name"), StorageAddress("never written")]) {
                #expect(probe.error?.code == .wrongContext)
                #expect(probe.error?.reason.contains("\(Self.bank)") == true && probe.error?.reason.contains("\(other)") == true)
            }
            for mutation in [StorageMutation.text("x", at: "name"), .delete(StorageAddress("name")), .tombstone(at: StorageAddress("new"))]
            {
                let result = try await store.apply(mutation)
                #expect(result.error?.code == .wrongContext && result.error?.outcome == .notApplied)
            }
            #expect(await failure { () throws(BackendError) in try await store.addresses(in: .values) }?.code == .wrongContext)
            #expect(await failure { () throws(BackendError) in try await store.count(StorageQuery(.values)) }?.code == .wrongContext)
            await store.close()
            #expect(try Data(contentsOf: URL(filePath: path)) == before)
        }

        @Test func `two exchanged databases are both refused, and open again after they are moved back`() async throws {
            let (bank, chat) = (folder.file("bank.sqlite"), folder.file("chat.sqlite"))
            try await make(Self.bank, at: bank)
            try await make(Self.others[0], at: chat)
            for _ in 0..<2 {
                try FileManager.default.moveItem(atPath: bank, toPath: bank + ".aside")
                try FileManager.default.moveItem(atPath: chat, toPath: bank)
                try FileManager.default.moveItem(atPath: bank + ".aside", toPath: chat)
                let isBack = try await text(Self.bank, at: bank) != nil
                #expect(try await text(Self.bank, at: bank) == (isBack ? "of \(Self.bank)" : nil))
                #expect(try await text(Self.others[0], at: chat) == (isBack ? "of \(Self.others[0])" : nil))
            }
            #expect(try await text(Self.bank, at: bank) != nil)
        }

        private func text(_ context: StoreContext, at path: String) async throws -> String? {
            let store = store(context, at: path)
            let text = try await store.text("name")
            await store.close()
            return text
        }

        @Test func `an adopted database opens only in its new context`() async throws {
            let path = folder.file("a.sqlite")
            try await make(Self.bank, at: path)
            let chat = Self.others[0]
            let (old, new) = (store(Self.bank, at: path), store(chat, at: path))
            #expect(try await old.text("name") == "of \(Self.bank)")
            // The database belongs to neither of these contexts, so it cannot be adopted from them.
            for wrong in [Self.others[1], chat] {
                let error = await failure { () throws(BackendError) in try await new.adopt(from: wrong) }
                #expect(error?.code == .wrongContext && error?.reason.contains("\(Self.bank)") == true)
            }
            #expect(try await new.read(StorageAddress("name")).error?.code == .wrongContext)
            try await new.adopt(from: Self.bank)
            #expect(try await new.text("name") == "of \(Self.bank)")
            try await new.put("more", at: "name")
            // A store that had the database open finds that the database now belongs to another context.
            #expect(try await old.apply(.text("x", at: "name")).error?.code == .wrongContext)
            #expect(try await old.read(StorageAddress("never written")).error?.code == .wrongContext)
            // A second adoption changes nothing.
            try await new.adopt(from: Self.bank)
            #expect(try await new.text("name") == "more")
            await old.close()
            await new.close()
            #expect(try await Reader.dump(path, keyFile).context == [chat.application, chat.kind, chat.scope])
            #expect(try await text(Self.bank, at: path) == nil)
        }

        @Test func `adopting a missing database fails and creates nothing`() async throws {
            let path = folder.file("a.sqlite")
            let store = store(Self.bank, at: path)
            #expect(await failure { () throws(BackendError) in try await store.adopt(from: Self.others[0]) }?.code == .unavailable)
            await store.close()
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }
#endif
