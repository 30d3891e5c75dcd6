/// A reader of bytes that others may have written, and what it promises whatever they are.
struct FuzzTarget: Sendable {
    /// The name of the target, and of the folder of its inputs.
    let name: String
    /// Inputs to begin with: what this library itself writes.
    let seeds: @Sendable () -> [[UInt8]]
    /// Lets the reader have an input, and checks its promises.
    let run: @Sendable ([UInt8]) throws(BrokenPromise) -> Void

    /// Every target.
    static let all: [FuzzTarget] = records + propertyLists + names + keyring + seals + databases
}

/// A promise that a reader broke.
struct BrokenPromise: Error, CustomStringConvertible {
    let description: String
}

/// Demands that something holds, in every kind of build.
func promise(_ holds: Bool, _ what: @autoclosure () -> String) throws(BrokenPromise) {
    guard holds else { throw BrokenPromise(description: what()) }
}

/// What a look at some bytes finds, which must be the same however often it is made, and whatever was looked at between.
func steady<Answer: Equatable>(_ bytes: [UInt8], _ look: ([UInt8]) -> Answer) throws(BrokenPromise) -> Answer {
    let first = look(bytes)
    _ = look(Array(bytes.dropLast()))
    let second = look(bytes)
    try promise(second == first, "two looks at the same bytes found different things: \(first) and \(second)")
    return first
}
