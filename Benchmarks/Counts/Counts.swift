import CAllocationCounts
import CCollection
import Dispatch
import Foundation
import LocalData

/// One operation of the library, many times, under callgrind: `Scripts/bench counts` runs it and reads what callgrind wrote.
///
/// Prints how many operations the measured phase had and how many allocations. Callgrind counts the instructions of that phase on all threads.
@main
enum Counts {
    /// Synchronous: an asynchronous `main` ends the main thread once the first task starts, and valgrind 3.19 crashes or hangs when it does.
    static func main() {
        let words = CommandLine.arguments
        if words.dropFirst().elementsEqual(["--list"]) {
            return print(Operation.allCases.map { "\($0.rawValue)\t\($0.title)" }.joined(separator: "\n"))
        }
        guard words.count == 3, let operation = Operation(rawValue: words[1]) else {
            print("usage: counts operation folder | counts --list")
            exit(64)
        }
        let finished = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                try await operation.run(in: URL(fileURLWithPath: words[2]))
            } catch {
                print("\(operation.rawValue): \(error)")
                exit(1)
            }
            finished.signal()
        }
        finished.wait()
    }
}

/// Counts what some work costs.
/// - Parameters:
///   - count: How many operations the work consists of.
///   - work: The measured phase.
func measure(_ count: Int, _ work: () async throws -> Void) async rethrows {
    let before = bench_allocations()
    counts_start_collection()
    try await work()
    counts_stop_collection()
    print("\(count) \(bench_allocations() - before)")
}
