#if Configuration
    import Configuration
    import LocalData

    /// The values of a provider at one moment.
    struct StorageConfigSnapshot: ConfigSnapshot {
        /// The state of one value.
        private struct Held: Sendable {
            var state: SettingState
            /// The number of the read. A read with a lower number began earlier, and does not replace this state.
            var number: UInt64
        }

        /// The values of the storage keys, or of one domain.
        private struct Source: Sendable {
            var held: [String: Held] = [:]
            /// The number of the read that last listed the entries of the domain; 0 if there was none.
            var listed: UInt64 = 0
            /// The error because of which the entries were never listed; nil if they were.
            var failure: StorageError?
        }

        let providerName: String
        /// The number of changes so far.
        private(set) var changes: UInt64 = 0
        /// The storage keys first, and then the domains. ``SettingSlot/source`` is the position.
        private var sources: [Source]

        init(providerName: String, domains: Int) {
            self.providerName = providerName
            sources = Array(repeating: Source(), count: 1 + domains)
        }

        // MARK: Reading

        func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
            try state(named: key.settingName).lookUp(key, as: type)
        }

        /// Returns the state of the value with a name.
        func state(named name: String) -> SettingState {
            if let declared = sources[0].held[name] { return declared.state }
            for source in sources.dropFirst() {
                if let held = source.held[name] {
                    if held.state != .absent { return held.state }
                } else if let failure = source.failure {
                    return .failed(failure)
                }
            }
            return .absent
        }

        /// The entries of the domains.
        var entrySlots: [SettingSlot] {
            sources.indices.dropFirst().flatMap { index in
                sources[index].held.keys.sorted().map { SettingSlot(source: index, name: $0) }
            }
        }

        /// The names of the values, sorted.
        var names: [String] {
            let named = sources.flatMap { source in source.held.filter { $0.value.state.isValue }.keys }
            return Set(named).sorted()
        }

        // MARK: Changing

        /// Takes the result of a read of one value, unless a later read has already replaced it.
        mutating func put(_ state: SettingState, at slot: SettingSlot, _ number: UInt64) {
            let held = sources[slot.source].held[slot.name]
            guard number > held?.number ?? sources[slot.source].listed else { return }
            // The names that a program asks for have no end. Of a domain, remember only names that an entry has had.
            if held == nil, state == .absent, !slot.isDeclared { return }
            if held?.state != state { changes += 1 }
            sources[slot.source].held[slot.name] = Held(state: state, number: number)
        }

        /// Takes the error of a value that could not be read. A value that was read before stays.
        mutating func fail(_ failure: SettingFailure, _ number: UInt64) {
            guard let name = failure.name else {
                guard sources[failure.source].listed == 0, sources[failure.source].failure?.code != failure.error.code else { return }
                sources[failure.source].failure = failure.error
                changes += 1
                return
            }
            let slot = SettingSlot(source: failure.source, name: name)
            switch sources[slot.source].held[name]?.state {
            case .value?: return
            case .absent? where slot.isDeclared: return
            case .absent?, .failed?, nil: put(.failed(failure.error), at: slot, number)
            }
        }

        /// Takes the result of a read of all values.
        mutating func take(_ reading: SettingReading, _ number: UInt64) {
            for (slot, state) in reading.states { put(state, at: slot, number) }
            for failure in reading.failures { fail(failure, number) }
            for (index, names) in reading.listed where number > sources[index].listed {
                for name in sources[index].held.keys where !names.contains(name) {
                    put(.absent, at: SettingSlot(source: index, name: name), number)
                }
                if sources[index].failure != nil { changes += 1 }
                sources[index].failure = nil
                sources[index].listed = number
            }
        }

        /// Replaces each secret by an error.
        mutating func forgetSecrets(_ number: UInt64) {
            for index in sources.indices {
                for (name, held) in sources[index].held where held.state.isSecret {
                    let error = StorageError(
                        .locked, key: name, "The program has removed its secrets from memory. Read the value again with fetch or reload.")
                    put(.failed(error), at: SettingSlot(source: index, name: name), number)
                }
            }
        }
    }

    extension StorageConfigSnapshot: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        var description: String { "\(providerName)[\(names.count) values]" }
        var debugDescription: String { "\(providerName)[\(names.count) values: \(names.joined(separator: ", "))]" }
        var customMirror: Mirror { Mirror(self, children: ["names": names]) }
    }

    extension AbsoluteConfigKey {
        /// The name of the stored value: the components, joined by dots.
        var settingName: String { components.joined(separator: ".") }
    }
#endif
