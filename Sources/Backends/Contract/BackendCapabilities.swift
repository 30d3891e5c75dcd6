/// How well a store, or a key's policy over a store, protects what it holds from someone who reads the disk.
///
/// The order is the order of strength; moving a value never goes down it unless the migration allows that by name.
public enum ProtectionLevel: Int, Hashable, Sendable, Comparable, Codable, CaseIterable, CustomStringConvertible {
    /// Readable by anyone who can read the file.
    case plain
    /// Sealed, with the key on the same disk.
    case sealed
    /// In the keyring, sealed with a key that is in the keyring, or never on a disk at all.
    case keychain

    /// Whether the first protects less than the second.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// The level's name.
    public var description: String {
        switch self {
        case .plain: "plain"
        case .sealed: "sealed"
        case .keychain: "keyring"
        }
    }
}

/// What a backend promises. Every claim is tested by a law in `BackendConformance`.
public struct BackendCapabilities: Hashable, Sendable {
    /// How long an acknowledged change lasts at best.
    public var durability: StorageDurability
    /// Whether the mutations of one `apply` happen all together or not at all.
    public var atomicBatch: Bool
    /// Whether preconditions hold between processes.
    public var crossProcess: Bool
    /// How well the store itself protects what it holds.
    public var protection: ProtectionLevel
    /// The largest value in bytes, payload and metadata together (``StorageMutation/byteCount``); nil if only the machine sets a limit. Larger ones are refused as
    /// `tooLarge` before anything is written (``requireFit(_:)``).
    public var maximumValueSize: Int?
    /// Whether payloads may be given as ``StoragePayload/native(_:)``.
    public var storesNativeValues: Bool
    /// Whether another program can change slots without writing metadata.
    public var sharedWithOthers: Bool
    /// Whether the store keeps names sealed, so that damage to a slot may cost its name. The backend is then a ``SalvageableBackend``.
    public var sealsNames: Bool
    /// How many calls may usefully wait at once: 1 for a store that answers one after the other, hundreds for one that carries out waiting calls
    /// together. A sweep processes at most this many keys of the store at once.
    public var usefulConcurrency: Int

    /// Creates a set of promises. A capability that is not given is not promised.
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

/// Whether a store can be used, found out without opening a prompt.
public enum BackendStatus: Hashable, Sendable {
    /// It can be read and written.
    case ready
    /// It is there and locked.
    case locked
    /// It is not there yet.
    case absent
    /// It cannot be reached.
    case unavailable(BackendError)
}
