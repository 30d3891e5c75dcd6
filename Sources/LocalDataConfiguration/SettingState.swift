#if Configuration
    import Configuration
    import LocalData

    /// The location of a value, as the provider numbers it.
    struct SettingSlot: Hashable, Sendable {
        /// 0 for a storage key of the provider; otherwise the position of the domain, beginning with 1.
        let source: Int
        /// The name of the configuration key. In a domain, it is also the name of the entry.
        let name: String

        /// Whether the value has a storage key.
        var isDeclared: Bool { source == 0 }
    }

    /// The result of a read.
    enum SettingState: Sendable, Equatable {
        case value(DocumentValue, isSecret: Bool)
        case absent
        /// The value could not be read.
        case failed(StorageError)

        /// Whether two states are equal. Two errors are equal if their codes are.
        static func == (left: Self, right: Self) -> Bool {
            switch (left, right) {
            case (.value(let left, let leftIsSecret), .value(let right, let rightIsSecret)): left == right && leftIsSecret == rightIsSecret
            case (.absent, .absent): true
            case (.failed(let left), .failed(let right)): left.code == right.code
            default: false
            }
        }

        var isValue: Bool { if case .value = self { true } else { false } }
        var isSecret: Bool { if case .value(_, isSecret: true) = self { true } else { false } }

        /// Returns the value as a given type.
        /// - Throws: ``StorageError``: the error of the read; `undecodable` if the value has another type.
        func lookUp(_ key: AbsoluteConfigKey, as type: ConfigType) throws -> LookupResult {
            let name = key.settingName
            switch self {
            case .absent: return LookupResult(encodedKey: name, value: nil)
            case .failed(let error): throw error
            case .value(let document, let isSecret):
                guard let content = document.content(as: type) else {
                    throw StorageError(
                        .undecodable, key: name,
                        "The stored value is \(document.kindName). It cannot be read as the configuration type \(type.rawValue).")
                }
                return LookupResult(encodedKey: name, value: ConfigValue(content, isSecret: isSecret))
            }
        }
    }

    /// A value, or the list of the entries of a domain, that could not be read.
    struct SettingFailure: Sendable {
        let source: Int
        /// The name of the value; nil for the list of the entries, or for a damaged entry that has lost its name.
        let name: String?
        let error: StorageError

        init(source: Int, name: String?, _ error: StorageError) { (self.source, self.name, self.error) = (source, name, error) }

        init(_ slot: SettingSlot, _ error: any Error) {
            let error = (error as? StorageError) ?? StorageError(.unavailable, key: slot.name, "The value could not be read.")
            self.init(source: slot.source, name: slot.name, error)
        }
    }

    /// The result of reading all values.
    struct SettingReading: Sendable {
        /// The values that were read.
        var states: [SettingSlot: SettingState] = [:]
        /// The values, and the lists of entries, that could not be read.
        var failures: [SettingFailure] = []
        /// The names of the entries of each domain that could be listed.
        var listed: [Int: Set<String>] = [:]
    }
#endif
