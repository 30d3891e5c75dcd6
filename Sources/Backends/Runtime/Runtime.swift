/// Everything that a backend or the router needs from the machine, so that a test or a simulation can put something else in its place:
/// time, randomness, tasks, lanes, files and locks, and facts about the host.
package struct Runtime: Sendable {
    /// Time.
    package var clock: any RuntimeClock
    /// Randomness: 64 unpredictable bits a call.
    package var randomBits: @Sendable () -> UInt64
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
        clock: any RuntimeClock, randomBits: @escaping @Sendable () -> UInt64, tasks: any TaskSpawner,
        makeLane: @escaping @Sendable (String) -> any Lane, files: any FileSystem, host: HostFacts
    ) {
        self.clock = clock
        self.randomBits = randomBits
        self.tasks = tasks
        self.makeLane = makeLane
        self.files = files
        self.host = host
    }

    /// The real machine.
    package static var live: Runtime {
        Runtime(
            clock: SystemClock(), randomBits: { UInt64.random(in: .min ... .max) }, tasks: PoolSpawner(),
            makeLane: { DispatchLane(label: $0) }, files: PosixFileSystem(), host: .current())
    }

    /// A generator that draws from ``randomBits``.
    package var generator: RuntimeGenerator { RuntimeGenerator(bits: randomBits) }

    /// A number of random bytes: those of ``randomBits``, the lowest of each 64 bits first. Unused bits of the last 64 are discarded.
    package func randomBytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
            while filled < count {
                withUnsafeBytes(of: randomBits().littleEndian) { word in
                    let part = min(word.count, count - filled)
                    UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(bytes)[filled...]).copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: word[..<part]))
                    filled += part
                }
            }
        }
    }
}

/// A generator over a runtime's randomness.
package struct RuntimeGenerator: RandomNumberGenerator, Sendable {
    let bits: @Sendable () -> UInt64

    /// 64 random bits.
    package mutating func next() -> UInt64 { bits() }
}
