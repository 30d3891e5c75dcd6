#if SQLite
    import Foundation
    import TestSupport
    import Testing

    /// The system calls of the test worker, read from the output of `strace -f -y`.
    struct Trace {
        struct Call: CustomStringConvertible {
            let name: String
            /// The file of the first argument, or the name of a mark; empty if the call has neither.
            /// A mark is a check for a file that does not exist, by which the worker separates phases.
            let file: String
            let succeeded: Bool
            let description: String

            var isFlush: Bool { name == "fsync" || name == "fdatasync" }
            /// Whether the call changes the content of a file.
            var isChange: Bool { ["pwrite64", "write", "ftruncate", "pwritev"].contains(name) }
        }

        /// The calls in the order of the output.
        /// strace prints an interrupted call in two parts, which are joined at its end.
        let calls: [Call]

        init(_ path: String) throws {
            var begun: [Substring: Substring] = [:]
            var calls: [Call] = []
            for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
                let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
                guard parts.count == 2 else { continue }
                let process = parts[0]
                var text = parts[1].drop { $0 == " " }
                if text.hasSuffix("<unfinished ...>") {
                    begun[process] = text.dropLast("<unfinished ...>".count)
                    continue
                }
                if text.hasPrefix("<..."), let end = text.firstRange(of: "resumed>") {
                    text = Substring((begun.removeValue(forKey: process) ?? "") + text[end.upperBound...])
                }
                guard let parenthesis = text.firstIndex(of: "("), !text.hasPrefix("+++"), !text.hasPrefix("---") else { continue }
                let arguments = text[text.index(after: parenthesis)...]
                var file = ""
                if let mark = text.firstRange(of: Self.mark) {
                    file = String(text[mark.lowerBound...].prefix { $0 != "\"" })
                } else if let open = arguments.firstIndex(of: "<"), let close = arguments.firstIndex(of: ">"), open < close,
                    !arguments[..<open].contains(",")
                {
                    file = String(arguments[arguments.index(after: open)..<close])
                } else if let open = arguments.firstIndex(of: "\"") {
                    file = String(arguments[arguments.index(after: open)...].prefix { $0 != "\"" })
                }
                calls.append(
                    Call(
                        name: String(text[..<parenthesis]), file: file, succeeded: !text.contains(" = -1 "),
                        description: String(text.prefix(160))))
            }
            self.calls = calls
        }

        private static let mark = "/localdata-mark/"

        /// Returns the calls between a mark and the next one.
        func calls(in phase: String) -> ArraySlice<Call> {
            guard let begin = calls.firstIndex(where: { $0.file == Self.mark + phase }) else { return [] }
            let after = calls[calls.index(after: begin)...]
            return after.prefix { !$0.file.hasPrefix(Self.mark) }
        }

        /// Runs the worker command `trace` under strace, and returns its system calls.
        static func record(_ place: Place) async throws -> Trace {
            let record = place.folder + "/trace"
            let probe = try place.probe(
                "trace",
                under: [
                    "strace", "-f", "-y", "-qq", "-s", "4", "-o", record, "-e",
                    "trace=?access,?faccessat,?faccessat2,flock,close,fsync,fdatasync,pwrite64,write,pwritev,ftruncate",
                ])
            let ended = await probe.end()
            try #require(ended.status == 0 && ended.lines == ["done"], "\(ended)")
            return try Trace(record)
        }
    }
#endif
