import BackendRuntime

/// The attempts at a step that starts over when another process or task changed a slot in between: 64 at most. Iterate
/// over them with `for await`, and return from the loop when an attempt succeeds.
///
/// A writer that loses twice waits before the next attempt, for a random time that grows. Without it, two processes
/// that take a store's lock in turns stay in step: each time one has read, the other one writes, and the first loses
/// every time.
struct Attempts: AsyncSequence, AsyncIteratorProtocol {
    /// How many there are.
    static let limit = 64

    private let runtime: Runtime
    private var count = 0

    init(_ runtime: Runtime) { self.runtime = runtime }

    func makeAsyncIterator() -> Attempts { self }

    /// The number of the next attempt, from 1, when it is time for it; nil after the last one.
    mutating func next() async -> Int? { await next(isolation: nil) }

    mutating func next(isolation actor: isolated (any Actor)?) async -> Int? {
        guard count < Self.limit else { return nil }
        count += 1
        // Reason: "A writer that loses twice waits for a random time" in Docs/Decisions/Migration.md.
        if count > 2 {
            var numbers = runtime.generator
            // Up to 1 ms at first, up to 64 ms in the end: about two seconds in all.
            let longest = Int64(1_000_000) << Swift.min(count - 3, 6)
            await runtime.clock.wait(.nanoseconds(Int64.random(in: 1...longest, using: &numbers)))
        }
        return count
    }
}
