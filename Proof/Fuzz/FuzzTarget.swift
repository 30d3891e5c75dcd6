/// A reader (a function of the library that reads bytes from other programs), and a check that the reader keeps its
/// promises for any bytes.
struct FuzzTarget: Sendable {
    /// The name of the target, and of the folder of its inputs.
    let name: String
    /// The inputs from which the fuzzer starts, such as bytes that the library wrote.
    let seeds: @Sendable () -> [[UInt8]]
    /// Gives an input to the reader, and checks the promises.
    let run: @Sendable ([UInt8]) throws(BrokenPromise) -> Void

    /// Every target.
    static let all: [FuzzTarget] = records + propertyLists + keyedArchives + names + keyring + seals + databases
}

/// A promise that a reader broke.
struct BrokenPromise: Error, CustomStringConvertible {
    let description: String
}

/// Throws if a condition does not hold, in debug and release builds.
func promise(_ holds: Bool, _ what: @autoclosure () -> String) throws(BrokenPromise) {
    guard holds else { throw BrokenPromise(description: what()) }
}

/// Reads some bytes twice, reads other bytes in between, and requires that both results are equal.
func steady<Answer: Equatable>(_ bytes: [UInt8], _ look: ([UInt8]) -> Answer) throws(BrokenPromise) -> Answer {
    let first = look(bytes)
    _ = look(Array(bytes.dropLast()))
    let second = look(bytes)
    try promise(second == first, "two reads of the same bytes differ: \(first) and \(second)")
    return first
}
