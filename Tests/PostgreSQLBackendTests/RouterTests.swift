#if PostgreSQL && os(Linux)
    import Foundation
    import LocalData
    import LocalDataPostgreSQL
    import TestSupport
    import Testing

    /// Tests of the domain `.postgreSQL` through the router, as several machines would use it. All machines have
    /// the same sealing key, and separate folders.
    @Suite(.slow("starts a server")) struct RouterTests {
        private let folder: TemporaryDirectory
        private let server: PostgreSQLServer
        private let key = StorageKey<String>(name: "token", domain: .postgreSQL(database: "main"))

        init() async throws {
            folder = try TemporaryDirectory()
            let schema = "router_\(UInt32.random(in: .min ... .max))"
            server = PostgreSQLServer(try await PrivatePostgreSQL.shared().conninfo, schema: schema)
        }

        private func machine(_ name: String) -> StorageRouter {
            var configuration = StorageConfiguration(root: URL(filePath: folder.file(name)), applicationID: "com.example.app")
            configuration.keySource = .keyFile(folder.file("shared-key"))
            configuration.usePostgreSQL(server)
            return StorageRouter(configuration: configuration)
        }

        @Test func `a value that one machine sets is read and removed by another one`() async throws {
            let (one, two) = (machine("one"), machine("two"))
            #expect(try await one.value(for: key) == nil)
            try await one.set("secret", for: key)
            #expect(try await two.get(key) == "secret")
            try await two.remove(key)
            #expect(try await one.value(for: key) == nil)
        }

        @Test func `a change by another machine is reported to observers`() async throws {
            let (one, two) = (machine("one"), machine("two"))
            try await one.set("first", for: key)
            var values = one.values(for: key).makeAsyncIterator()
            while try await values.next() != "first" {}
            try await two.set("second", for: key)
            while try await values.next() != "second" {}
            try await two.remove(key)
            while try await values.next() != .some(nil) {}
        }

        @Test func `three machines that start at once use one data key`() async throws {
            let machines = (0..<3).map { machine("\($0)") }
            try await withThrowingTaskGroup { group in
                for (number, machine) in machines.enumerated() {
                    group.addTask {
                        try await machine.set(
                            "\(number)", for: StorageKey<String>(name: "key \(number)", domain: .postgreSQL(database: "main")))
                    }
                }
                try await group.waitForAll()
            }
            for machine in machines {
                for number in 0..<3 {
                    let key = StorageKey<String>(name: "key \(number)", domain: .postgreSQL(database: "main"))
                    #expect(try await machine.get(key) == "\(number)")
                }
            }
        }
    }
#endif
