/// Everything that a backend or the router needs from the machine, so that a test or a simulation can put something else in its place:
/// time, randomness, tasks, lanes, files and locks, and facts about the host.
package struct Runtime: Sendable {
    /// Time.
    package var clock: any RuntimeClock
    /// Randomness.
    package var randomness: Randomness
    /// Starts work that must outlive its caller.
    package var tasks: any TaskSpawner
    /// Makes the lane that a store's blocking work runs on; the text names it for debuggers.
    package var makeLane: @Sendable (String) -> any Lane
    /// Files and the locks between processes.
    package var files: any FileSystem
    /// Facts about this process and this boot of the machine.
    package var host: HostFacts

    /// Creates a runtime from its parts.
    package init(
        clock: any RuntimeClock, randomness: Randomness, tasks: any TaskSpawner,
        makeLane: @escaping @Sendable (String) -> any Lane, files: any FileSystem, host: HostFacts
    ) {
        self.clock = clock
        self.randomness = randomness
        self.tasks = tasks
        self.makeLane = makeLane
        self.files = files
        self.host = host
    }

    /// The real machine.
    package static var live: Runtime {
        Runtime(
            clock: SystemClock(), randomness: .system, tasks: PoolSpawner(),
            makeLane: { DispatchLane(label: $0) }, files: PosixFileSystem(), host: .current())
    }

    /// A generator that draws from ``randomness``.
    package var generator: RuntimeGenerator { RuntimeGenerator(randomness: randomness) }

    /// 64 unpredictable bits.
    package func randomBits() -> UInt64 { randomness.bits() }

    /// A number of unpredictable bytes.
    package func randomBytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
            randomness.fill(UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(bytes)[..<count]))
            filled = count
        }
    }
}

/// A generator over a runtime's randomness.
package struct RuntimeGenerator: RandomNumberGenerator, Sendable {
    let randomness: Randomness

    /// 64 random bits.
    package mutating func next() -> UInt64 { randomness.bits() }
}
