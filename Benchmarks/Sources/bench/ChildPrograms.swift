import Foundation

/// Returns a process that runs this program again. It is not started yet.
func thisProgram(_ arguments: [String]) -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = arguments
    return process
}

/// The time and the memory of some work in a new process. The largest resident set of a process never falls, so in a
/// process that has held the same data before, the work would seem to need no memory.
struct WorkInNewProcess {
    /// In seconds, without the start of the process.
    let time: Double
    /// The largest resident set at the end, minus that at the beginning, in MiB.
    let moreMemory: Double

    /// Does the work in the new process, and prints what the other process reads.
    static func report(_ work: () async throws -> Void) async throws {
        let before = peakMemory()
        let time = try await seconds(work)
        print("\(before) \(peakMemory()) \(time)")
    }

    /// Runs this program, and waits for its end.
    /// - Parameter arguments: The arguments with which the program calls ``report(_:)``.
    init(_ arguments: [String]) throws {
        let (process, output) = (thisProgram(arguments), Pipe())
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard process.terminationStatus == 0, numbers.count == 3 else { fatalError("The program \(arguments) failed: \(text)") }
        (moreMemory, time) = ((numbers[1] - numbers[0]) / 1_024, numbers[2])
    }
}
