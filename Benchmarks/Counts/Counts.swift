import CAllocationCounts
import CCollection
import Dispatch
import Foundation
import LocalData

/// Runs one operation of the library many times under callgrind. `Scripts/bench counts` starts it and reads the output
/// of callgrind.
///
/// The program prints the number of operations and the number of allocations in the measured phase. Callgrind counts
/// the instructions of that phase on all threads.
@main
enum Counts {
    /// `main` is synchronous. An asynchronous `main` ends the main thread once the first task starts, and valgrind 3.19
    /// crashes or hangs then.
    static func main() {
        let words = CommandLine.arguments
        if words.dropFirst().elementsEqual(["--list"]) {
            return print(Operation.allCases.map { "\($0.rawValue)\t\($0.title)" }.joined(separator: "\n"))
        }
        let isPreparing = words.count == 4 && words[1] == "--prepare"
        guard isPreparing || words.count == 3, let operation = Operation(rawValue: words[words.count - 2]), let path = words.last else {
            print("usage: counts [--prepare] operation folder | counts --list")
            exit(64)
        }
        let finished = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                let folder = URL(fileURLWithPath: path)
                if isPreparing { try await operation.prepare(folder) } else { try await operation.run(in: folder) }
            } catch {
                print("\(operation.rawValue): \(error)")
                exit(1)
            }
            finished.signal()
        }
        finished.wait()
    }
}

/// Runs the measured phase, and prints the number of operations and of allocations.
/// - Parameters:
///   - count: The number of operations in the phase.
///   - work: The operations.
func measure(_ count: Int, _ work: () async throws -> Void) async rethrows {
    let before = beginMeasuring()
    try await work()
    endMeasuring(count, before)
}

/// Begins the measured phase.
/// - Returns: The number of allocations so far, for ``endMeasuring(_:_:)``.
func beginMeasuring() -> UInt {
    let before = bench_allocations()
    counts_start_collection()
    return before
}

/// Ends the measured phase, and prints the number of operations and of allocations.
/// - Parameters:
///   - count: The number of operations in the phase.
///   - before: The result of ``beginMeasuring()``.
func endMeasuring(_ count: Int, _ before: UInt) {
    counts_stop_collection()
    print("\(count) \(bench_allocations() - before)")
}
