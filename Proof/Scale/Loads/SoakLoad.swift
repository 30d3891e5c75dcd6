#if PostgreSQL && Keyring && SQLite && os(Linux)
    import Foundation
    import Glibc
    import LocalData
    import LocalDataPostgreSQL
    import Synchronization
    import TestSupport

    /// A process that reads, replaces and removes values in four kinds of stores at a steady rate, until its standard input ends.
    /// `Proof/Scale/soak.py` runs several of them, kills some, and locks and unlocks the keyring.
    ///
    /// The key of the encrypted database is in the keyring. While the keyring is locked, the database and the keyring refuse calls
    /// with `locked`; other errors than that, a timeout and a conflict are unexpected.
    package struct SoakLoad: Sendable {
        private enum Store {
            case list
            case database
            case keyring
            case server

            var domain: StorageDomain {
                switch self {
                case .list: .userDefaults(suite: "soak")
                case .database: .encryptedSQLite(database: "soak")
                case .keyring: .keychain(service: "soak")
                case .server: .postgreSQL(database: "soak")
                }
            }

            /// The number of keys. A keyring is for few items.
            var keys: Int { self == .keyring ? 4 : 100 }

            /// Chooses a store. One call in fifty is for the keyring, whose changes take a hundred times as long.
            static func random(_ dice: inout SeededGenerator) -> Store {
                let choice = Int.random(in: 0..<50, using: &dice)
                return choice == 0 ? .keyring : [.list, .database, .server][choice % 3]
            }
        }

        /// The answers since the last report.
        private struct Answers {
            var latencies = Latencies()
            var refused = 0
        }

        private let storage: StorageRouter
        private let answers = Shared(Answers())
        private let isOver = Shared(false)
        private let isLeaking: Bool

        /// Runs the load. A process runs this. For each line of its standard input, it prints the number of calls that succeeded since
        /// the line before, the number of refused calls, and the median and the 99th percentile of the durations in microseconds.
        /// Unexpected answers go to the standard error.
        /// - Parameters:
        ///   - folder: The folder of the machine.
        ///   - server: The connection string.
        ///   - isLeaking: Whether every tenth call leaks a descriptor and a page of memory. The judge of the soak must notice this.
        package static func run(folder: String, server: String, seed: UInt64, isLeaking: Bool) async throws {
            let storage = Machine(folder: folder, server: server).router { configuration in
                configuration.databaseKeySources["soak"] = .keychain(service: "soak")
                configuration.locksWithKeychain = .seconds(1)
            }
            let load = SoakLoad(storage: storage, isLeaking: isLeaking)
            Thread.detachNewThread {
                while readLine() != nil { load.report() }
                load.isOver.value.withLock { $0 = true }
            }
            await withTaskGroup { group in
                for task in 0..<4 { group.addTask { await load.work(SeededGenerator(seed &* 31 &+ UInt64(task))) } }
            }
            try await storage.shutdown()
        }

        private init(storage: StorageRouter, isLeaking: Bool) { (self.storage, self.isLeaking) = (storage, isLeaking) }

        private func report() {
            let found = answers.value.withLock { answers in
                defer { answers = Answers() }
                return answers
            }
            let latencies = found.latencies
            say("\(latencies.count) \(found.refused) \(latencies.percentile(0.5)) \(latencies.percentile(0.99))")
        }

        private func work(_ random: SeededGenerator) async {
            var (dice, calls) = (random, 0)
            while !isOver.value.withLock(\.self) {
                await call(&dice)
                calls += 1
                if isLeaking, calls % 10 == 0 { Self.leak() }
                try? await Task.sleep(for: .milliseconds(100))
            }
        }

        private func call(_ dice: inout SeededGenerator) async {
            let store = Store.random(&dice)
            let name = "key \(Int.random(in: 0..<store.keys, using: &dice))"
            let key = StorageKey<String>(name: name, domain: store.domain)
            let choice = Int.random(in: 0..<10, using: &dice)
            let text = "\(name) \(dice.next())"
            let begin = ContinuousClock.now
            do {
                switch choice {
                case 0: try await storage.remove(key)
                case 1...3: try await storage.set(text, for: key)
                default:
                    if let value = try await storage.value(for: key), !value.hasPrefix("\(name) ") {
                        complain("\(store) has \(value) for \(name)")
                    }
                }
                let duration = ContinuousClock.now - begin
                answers.value.withLock { $0.latencies.add(duration) }
            } catch let error as StorageError where [.locked, .timedOut, .conflict].contains(error.code) {
                answers.value.withLock { $0.refused += 1 }
            } catch {
                complain("\(store) \(error)")
            }
        }

        private func complain(_ text: String) {
            FileHandle.standardError.write(Data("unexpected: \(text.replacing("\n", with: " "))\n".utf8))
        }

        private static func leak() {
            _ = open("/dev/null", O_RDONLY)
            memset(malloc(4_096), 1, 4_096)
        }
    }
#endif
