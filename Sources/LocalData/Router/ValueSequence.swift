/// The current and later values of a key: see ``StorageRouter/values(for:)``.
struct ValueSequence<Value: Codable & Sendable>: AsyncSequence, Sendable {
    typealias Element = Value?
    typealias Failure = any Error

    /// Returns the function that returns the next value of a new iteration.
    let begin: @Sendable () -> () async throws -> Value??

    func makeAsyncIterator() -> Iterator { Iterator(nextValue: begin()) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let nextValue: () async throws -> Value??

        mutating func next() async throws -> Value?? { try await nextValue() }
    }
}
