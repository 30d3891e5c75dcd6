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
            case EMFILE, EIO, ENOSPC, EACCES

            /// The error codes that the caller may get.
            /// If SQLite could open the file for reading only, the fault is over when the store checks it.
            var codes: [BackendError.Code] {
                switch self {
                case .EMFILE: [.unavailable]
                case .EIO: [.unavailable, .failed, .accessDenied]
                case .ENOSPC: [.unavailable, .noSpace]
                case .EACCES: [.unavailable, .accessDenied]
                }
            }
        }

        /// Changes a slot three times and reads it, with a fault in a call of `openat`. Returns the printed answers.
        private func answers(_ place: Place, _ fault: Fault, at call: Int, isLasting: Bool = false) async throws -> [String] {
            let paths = ["", "-wal", "-shm"].flatMap { ["-P", place.path + $0] }
            let probe = try place.probe(
                "echo", ["20"],
                under: ["strace", "-f", "-qq", "-o", place.folder + "/trace"] + paths + [
                    "-e", "trace=openat", "-e", "inject=openat:error=\(fault):when=\(call)\(isLasting ? "+" : "")",
                ])
            _ = try await probe.line()
            var answers: [String] = []
            for number in 1...3 { answers.append(try await probe.ask("put name \(number)")) }
            answers.append(try await probe.ask("get name"))
            _ = await probe.end()
            return answers
        }

        @Test(arguments: Fault.allCases) func `a database file that once could not be opened does not prevent later writes`(
            _ fault: Fault
        ) async throws {
            let place = try Place()
            let store = place.store()
            try await store.put("0", at: "name")
            await store.close()
            var met = 0
            for call in 1...40 {
                let found = try await answers(place, fault, at: call)
                let isMet = try String(contentsOfFile: place.folder + "/trace", encoding: .utf8).contains("INJECTED")
                guard isMet else { break }
                met += 1
                #expect(found.suffix(2) == ["applied", "3"], "call \(call): \(found)")
                for answer in found where answer.hasPrefix("failed") {
                    let codes = fault.codes.map { "failed \($0) notApplied" }
                    #expect(codes.contains(answer), "call \(call): \(found)")
                }
            }
            #expect(met >= 3, "the test meets no call that opens a file")
            try await place.check()
        }
    }
#endif
