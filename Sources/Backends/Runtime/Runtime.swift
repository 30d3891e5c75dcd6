/// Everything that LocalData uses of the machine: time, randomness, tasks, lanes (serial queues), files, locks, and
/// facts about the host. Tests and simulations replace these parts.
package struct Runtime: Sendable {
    /// The clock.
    package var clock: any RuntimeClock
    /// The source of random bytes.
    package var randomness: Randomness
    /// Starts tasks that must outlive their callers.
    package var tasks: any TaskSpawner
    /// Creates a lane (serial queue) for the blocking work of a store. The text is the lane's name in debuggers.
    package var makeLane: @Sendable (String) -> any Lane
    /// The file system, with the locks between processes.
    package var files: any FileSystem
    /// Facts about this process and this boot of the machine.
    package var host: HostFacts
    /// Whether calls ignore ``CallPatience`` and always have the whole time that their store allows. Tests set it, so
    /// that what a read purges does not depend on the speed of the machine.
    package var isPatient = false

    /// Creates a runtime from its parts.
    package init(
        clock: any RuntimeClock, randomness: Randomness, tasks: any TaskSpawner,
        makeLane: @escaping @Sendable (String) -> any Lane, files: any FileSystem, host: HostFacts
    ) {
        self.clock = clock
        (self.randomness, self.tasks, self.makeLane, self.files, self.host) = (randomness, tasks, makeLane, files, host)
    }

    /// The runtime of the real machine.
    package static var live: Runtime {
        Runtime(
            clock: SystemClock(), randomness: .system, tasks: PoolSpawner(),
            makeLane: { DispatchLane(label: $0) }, files: PosixFileSystem(), host: .current())
    }

    /// A random number generator that uses ``randomness``.
    package var generator: some RandomNumberGenerator & Sendable { RuntimeGenerator(randomness: randomness) }

    /// Returns 64 unpredictable bits.
    package func randomBits() -> UInt64 { randomness.bits() }

    /// Returns the given number of unpredictable bytes.
    package func randomBytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
            randomness.fill(UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(bytes)[..<count]))
            filled = count
        }
    }
}

/// A random number generator that uses the randomness of a runtime.
private struct RuntimeGenerator: RandomNumberGenerator, Sendable {
    let randomness: Randomness

    /// Returns 64 random bits.
    mutating func next() -> UInt64 { randomness.bits() }
}
