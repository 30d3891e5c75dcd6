#if SQLite
    import Foundation
    import Glibc
    import Synchronization
    import TestSupport

    /// A run of `SQLiteProbe` in a process of its own: lines go in, lines come out.
    final class ProbeProcess: Sendable {
        private struct State {
            var lines: [String] = []
            var errors = ""
            var hasEnded = false
            var taken = 0
            var waiting: [(isReady: @Sendable (Int, Bool) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []

            mutating func ready() -> [CheckedContinuation<Void, Never>] {
                let (count, ended) = (lines.count, hasEnded)
                let ready = waiting.filter { $0.isReady(count, ended) }
                waiting.removeAll { $0.isReady(count, ended) }
                return ready.map(\.continuation)
            }
        }

        private let state = Mutex(State())
        private let process = Process()
        private let (input, output, errors) = (Pipe(), Pipe(), Pipe())

        /// Starts it; it is killed with the tests.
        /// - Parameters:
        ///   - place: The database.
        ///   - prefix: A program with its arguments that starts the probe, such as `strace`.
        init(_ place: Place, _ command: String, _ arguments: [String] = [], under prefix: [String] = []) throws {
            process.executableURL = URL(filePath: try Program.path("setpriv"))
            var words = prefix
            if let program = prefix.first { words[0] = try Program.path(program) }
            process.arguments = ["--pdeathsig", "KILL"] + words + [try Program.built("SQLiteProbe"), command, place.folder] + arguments
            (process.standardInput, process.standardOutput, process.standardError) = (input, output, errors)
            try Program.start(process)
            // A thread of its own for each pipe: reading waits for the other process.
            let reader = errors.fileHandleForReading
            Thread.detachNewThread { [self] in
                let text = String(decoding: reader.readDataToEndOfFile(), as: UTF8.self)
                state.withLock { $0.errors = text }
            }
            Thread.detachNewThread { [self] in readLines() }
        }

        deinit { Glibc.kill(process.processIdentifier, SIGKILL) }

        private func readLines() {
            var rest = Data()
            while true {
                let data = output.fileHandleForReading.availableData
                if data.isEmpty { break }
                rest.append(data)
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    let line = String(decoding: rest[..<end], as: UTF8.self)
                    rest = Data(rest[rest.index(after: end)...])
                    wake { $0.lines.append(line) }
                }
            }
            process.waitUntilExit()
            wake { $0.hasEnded = true }
        }

        private func wake(_ change: (inout State) -> Void) {
            let ready = state.withLock { state in
                change(&state)
                return state.ready()
            }
            for continuation in ready { continuation.resume() }
        }

        private func wait(until isReady: @escaping @Sendable (Int, Bool) -> Bool) async {
            await withCheckedContinuation { continuation in
                let isNow = state.withLock { state in
                    if isReady(state.lines.count, state.hasEnded) { return true }
                    state.waiting.append((isReady, continuation))
                    return false
                }
                if isNow { continuation.resume() }
            }
        }

        /// The next line that nobody has taken yet.
        func line() async throws -> String {
            let wanted = state.withLock { state in
                state.taken += 1
                return state.taken
            }
            await wait { count, ended in count >= wanted || ended }
            return try state.withLock { state in
                guard state.lines.count >= wanted else {
                    throw ProgramFailure("The probe ended early: \(state.lines.suffix(3)) \(state.errors)")
                }
                return state.lines[wanted - 1]
            }
        }

        /// Sends a line.
        func send(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

        /// Sends a line and waits for the answer.
        func ask(_ line: String) async throws -> String {
            try send(line)
            return try await self.line()
        }

        /// Waits until it has printed so many lines, or ended.
        func wait(forLines count: Int) async { await wait { lines, ended in lines >= count || ended } }

        /// Kills it with SIGKILL.
        /// - Returns: Every line that it printed.
        func kill() async -> [String] {
            Glibc.kill(process.processIdentifier, SIGKILL)
            return await end().lines
        }

        /// Closes its standard input and waits for its end.
        func end() async -> (status: Int32, lines: [String], errors: String) {
            try? input.fileHandleForWriting.close()
            await wait { _, ended in ended }
            return state.withLock { (process.terminationStatus, $0.lines, $0.errors) }
        }
    }
#endif
