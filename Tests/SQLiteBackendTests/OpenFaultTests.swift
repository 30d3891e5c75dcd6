#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    /// Tests of a database file that cannot be opened for a moment: too many files are open, or the disk has a fault.
    /// SQLite then opens the file for reading only, if it can. The store must not stay read-only.
    @Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct OpenFaultTests {
        enum Fault: String, CaseIterable {
            case EMFILE, EIO, ENOSPC, EACCES, EROFS

            /// The error codes that the caller may get.
            /// If SQLite could open the file for reading only, the fault is over when the store checks it.
            var codes: [BackendError.Code] {
                switch self {
                case .EMFILE: [.unavailable]
                case .EIO: [.unavailable, .failed, .accessDenied]
                case .ENOSPC: [.unavailable, .noSpace]
                case .EACCES, .EROFS: [.unavailable, .accessDenied]
                }
            }
        }

        /// The calls that fail. After SQLite's call that opens a file for writing has failed, the next call opens it for reading.
        enum Span: CaseIterable {
            case one, threeInTurn, threeForWriting

            /// Returns the option of `strace` for the calls from one on.
            func calls(from first: Int) -> String {
                switch self {
                case .one: "\(first)"
                case .threeInTurn: "\(first)..\(first + 2)"
                case .threeForWriting: "\(first)..\(first + 4)+2"
                }
            }
        }

        /// Reads two slots, changes one five times and reads it, with faults in calls of `openat`. Returns the printed answers.
        private func answers(_ place: Place, _ fault: Fault, _ span: Span, at call: Int) async throws -> [String] {
            let paths = ["", "-wal", "-shm"].flatMap { ["-P", place.path + $0] }
            let probe = try place.probe(
                "echo", ["20"],
                under: ["strace", "-f", "-qq", "-o", place.folder + "/trace"] + paths + [
                    "-e", "trace=openat", "-e", "inject=openat:error=\(fault):when=\(span.calls(from: call))",
                ])
            _ = try await probe.line()
            var answers: [String] = []
            for name in ["name", "other", "other"] { answers.append(try await probe.ask("get \(name)")) }
            for number in 1...5 { answers.append(try await probe.ask("put name \(number)")) }
            answers.append(try await probe.ask("get name"))
            _ = await probe.end()
            return answers
        }

        @Test(arguments: Fault.allCases, Span.allCases)
        func `a database file that could not be opened does not prevent later reads and writes`(
            _ fault: Fault, _ span: Span
        ) async throws {
            let place = try Place()
            var met = 0
            for call in 1...40 {
                // Closing empties the log.
                let store = place.store()
                try await store.put("0", at: "name")
                await store.close()
                let found = try await answers(place, fault, span, at: call)
                let isMet = try String(contentsOfFile: place.folder + "/trace", encoding: .utf8).contains("INJECTED")
                guard isMet else { break }
                met += 1
                #expect(found.suffix(2) == ["applied", "5"], "call \(call): \(found)")
                if span != .threeInTurn { #expect(found.prefix(3) == ["0", "absent", "absent"], "call \(call)") }
                for answer in found.dropFirst(3) where answer.hasPrefix("failed") {
                    let codes = fault.codes.map { "failed \($0) notApplied" }
                    #expect(codes.contains(answer), "call \(call): \(found)")
                }
            }
            #expect(met >= 3, "the test meets no call that opens a file")
            try await place.check()
        }
    }
#endif
