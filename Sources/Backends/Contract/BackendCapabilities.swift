/// The protection of stored content against someone who can read the disk.
///
/// Levels are ordered by strength. A migration moves a value to a weaker level only if its definition explicitly allows
/// that.
///
/// ```swift
/// print(ProtectionLevel.plain < .sealed, ProtectionLevel.sealed < .keychain)  // true true
/// ```
public enum ProtectionLevel: Int, Hashable, Sendable, Comparable, Codable, CaseIterable, CustomStringConvertible {
    /// Unencrypted: anyone who can read the file can read the value.
    case plain
    /// Encrypted with a key that is on the same disk.
    case sealed
    /// Stored in the keyring, encrypted with a key from the keyring, or never written to disk.
    case keychain

    /// Whether the first level is weaker than the second.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// The name of the level.
    public var description: String {
        switch self {
        case .plain: "plain"
        case .sealed: "sealed"
        case .keychain: "keyring"
        }
    }
}

/// The guarantees of a backend. The checks in `BackendConformance`, which are called laws, test each guarantee.
///
/// Claim only what the store keeps. Each default claims nothing.
///
/// ```swift
/// var capabilities = BackendCapabilities(durability: .durable, atomicBatch: true, maximumValueSize: 1_048_576)
/// capabilities.usefulConcurrency = 8
/// do { try capabilities.requireFit(.put(.bytes([UInt8](repeating: 0, count: 2_000_000)), at: StorageAddress("image"))) } catch {
///     print(error.code, error.reason)  // tooLarge, with the size, the limit and the remedy
/// }
/// ```
public struct BackendCapabilities: Hashable, Sendable {
    /// The highest durability that an acknowledged change can have.
    public var durability: StorageDurability
    /// Whether the changes of one call of `apply` are atomic: either all of them are made, or none is.
    public var atomicBatch: Bool
    /// Whether the precondition of a change also takes changes by other processes into account. If false, a
    /// precondition may miss such changes.
    public var crossProcess: Bool
    /// The protection level of the store. Encryption that a single storage key requests in addition is not counted.
    public var protection: ProtectionLevel
    /// The maximum size of a value in bytes, payload and metadata together (``StorageMutation/byteCount``). Nil if only memory and disk
    /// limit it. A change with a larger value fails with `tooLarge`, and nothing is written (``requireFit(_:)``).
    public var maximumValueSize: Int?
    /// Whether the store accepts ``StoragePayload/native(_:)`` payloads, which other programs can read.
    public var storesNativeValues: Bool
    /// Whether other programs can change slots (locations of single values in the store) without writing LocalData's metadata.
    public var sharedWithOthers: Bool
    /// Whether the store encrypts the names of slots. If so, damage to a slot can make its name unreadable, and the backend must be a
    /// ``SalvageableBackend``.
    public var sealsNames: Bool
    /// The number of concurrent calls up to which throughput improves: 1 for a store that carries out one call after the other, hundreds
    /// for a store that commits waiting calls together. A sweep, which migrates all keys, processes at most this many keys of the store at
    /// once.
    public var usefulConcurrency: Int

    /// Creates capabilities. The default values of the arguments guarantee nothing.
    public init(
        durability: StorageDurability = .process, atomicBatch: Bool = false, crossProcess: Bool = false,
        protection: ProtectionLevel = .plain,
        maximumValueSize: Int? = nil, storesNativeValues: Bool = false, sharedWithOthers: Bool = false, sealsNames: Bool = false,
        usefulConcurrency: Int = 1
    ) {
        self.durability = durability
        self.atomicBatch = atomicBatch
        self.crossProcess = crossProcess
        self.protection = protection
        self.maximumValueSize = maximumValueSize
        self.storesNativeValues = storesNativeValues
        self.sharedWithOthers = sharedWithOthers
        self.sealsNames = sealsNames
        self.usefulConcurrency = usefulConcurrency
    }
}

/// Whether a store can be used. Checking this never opens a prompt.
///
/// ```swift
/// switch await store.status() {
/// case .ready: print("ready")
/// case .locked: print("locked: a user can unlock it")
/// case .absent: print("not created yet")
/// case .unavailable(let error): print(error.reason)
/// }
/// ```
public enum BackendStatus: Hashable, Sendable {
    /// The store can be read and written.
    case ready
    /// The store exists and is locked.
    case locked
    /// The store does not exist yet.
    case absent
    /// The store cannot be reached.
    case unavailable(BackendError)
}
