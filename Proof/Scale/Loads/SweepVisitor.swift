#if PostgreSQL && os(Linux)
    import Foundation
    import LocalData
    import Synchronization
    import TestSupport

    /// A process that reads all keys of a ``SharedSweep`` and writes a part of them, until its standard input ends.
    ///
    /// A key may be absent until its value is moved. Once a value was read or written, every later read must return this value
    /// or a later one.
    package struct SweepVisitor: Sendable {
        /// The number of visitors. Each key is written by one of them.
        static let count = 2

        private let storage: StorageRouter
        /// The number of keys.
        private let keys: Int
        private let number: Int
        private let seed: UInt64
        private let isForgetful: Bool
        private let isOver = Shared(false)
        /// The latest write of each key that was read or acknowledged.
        private let seen = Shared([Int: Int]())
        private let wrong = Shared([String]())
        private let reads = Shared(0)

        /// Runs a visitor. A process runs this.
        /// - Parameters:
        ///   - folder: The folder of the machine.
        ///   - server: The connection string.
        ///   - count: The number of keys.
        ///   - number: The visitor's number.
        ///   - isForgetful: Whether it acknowledges every tenth write without making it.
        package static func run(
            folder: String, server: String, count: Int, number: Int, seed: UInt64, isForgetful: Bool
        ) async throws {
            let storage = Machine(folder: folder, server: server).router()
            let visitor = SweepVisitor(storage, count, number, seed &* 31 &+ UInt64(number), isForgetful)
            let isOver = visitor.isOver
            Thread.detachNewThread {
                while readLine() != nil {}
                isOver.value.withLock { $0 = true }
            }
            async let written = visitor.write()
            try await visitor.read()
            let writes = try await written
            for (key, sequence) in writes.last.sorted(by: { $0.key < $1.key }) { say("wrote \(key) \(sequence)") }
            for finding in visitor.wrong.all.prefix(20) { say(finding) }
            say("reads \(visitor.reads.number)")
            say("writes \(writes.count)")
            try await storage.shutdown()
        }

        private init(_ storage: StorageRouter, _ keys: Int, _ number: Int, _ seed: UInt64, _ isForgetful: Bool) {
            (self.storage, self.keys, self.number, self.seed, self.isForgetful) = (storage, keys, number, seed, isForgetful)
        }

        /// Reads keys until the standard input ends. Half of the reads are of a few keys, which are read often.
        private func read() async throws {
            var dice = SeededGenerator(seed)
            let few = min(keys, 500)
            while !isOver.value.withLock(\.self) {
                let isOften = Bool.random(using: &dice)
                let key = isOften ? Int.random(in: 0..<few, using: &dice) * (keys / few) : Int.random(in: 0..<keys, using: &dice)
                let known = seen.value.withLock { $0[key] }
                let value = try await storage.value(for: SharedSweep.shared(key))
                reads.count()
                judge(key, value, known)
                try await Task.sleep(for: .milliseconds(2))
            }
        }

        private func judge(_ key: Int, _ value: String?, _ known: Int?) {
            guard let value else {
                if let known { wrong.note("key \(key) is absent after write \(known)") }
                return
            }
            guard let sequence = value.split(separator: " ").last.flatMap({ Int($0) }), value == SharedSweep.text(key, sequence) else {
                return wrong.note("key \(key) has \(value)")
            }
            if let known, sequence < known { wrong.note("key \(key) has write \(sequence) after write \(known)") }
            seen.value.withLock { $0[key] = max($0[key] ?? 0, sequence) }
        }

        /// Writes keys of this visitor until the standard input ends.
        /// - Returns: The number of writes, and the last write of each key.
        private func write() async throws -> (count: Int, last: [Int: Int]) {
            var dice = SeededGenerator(seed &+ 1)
            var (count, last) = (0, [Int: Int]())
            while !isOver.value.withLock(\.self) {
                let key = Int.random(in: 0..<keys / Self.count, using: &dice) * Self.count + number
                let sequence = last[key, default: 0] + 1
                count += 1
                if !isForgetful || count % 10 > 0 {
                    try await storage.set(SharedSweep.text(key, sequence), for: SharedSweep.shared(key))
                }
                last[key] = sequence
                seen.value.withLock { $0[key] = sequence }
                try await Task.sleep(for: .milliseconds(20))
            }
            return (count, last)
        }
    }
#endif
