#if Configuration
    import BackendContract
    import Foundation
    import LocalData
    import Synchronization

    /// Reads and follows the stored values of a provider.
    struct SettingReader: Sendable {
        let storage: StorageRouter
        let domains: [StorageDomain]
        let keys: [String: AnyStorageKey]

        /// The slots of the storage keys.
        var keySlots: [SettingSlot] { keys.keys.sorted().map { SettingSlot(source: 0, name: $0) } }

        /// The slots that may have the value with a name, in the order of preference.
        func slots(named name: String) -> [SettingSlot] {
            if keys[name] != nil { return [SettingSlot(source: 0, name: name)] }
            return domains.indices.map { SettingSlot(source: $0 + 1, name: name) }
        }

        /// The domain that could not be read.
        func domain(of failure: SettingFailure) -> StorageDomain? {
            failure.source > 0 ? domains[failure.source - 1] : failure.name.flatMap { keys[$0]?.domain }
        }

        // MARK: Reading

        /// Reads every value, and lists the entries of every domain.
        /// - Throws: ``StorageError`` with `cancelled`. Other errors are part of the result.
        func readAll() async throws -> SettingReading {
            var reading = SettingReading()
            for slot in keySlots { try await read(slot, into: &reading) }
            for index in domains.indices {
                do {
                    let names = try await list(index + 1, into: &reading)
                    for name in names { try await read(SettingSlot(source: index + 1, name: name), into: &reading) }
                } catch let error as StorageError where error.code != .cancelled {
                    reading.failures.append(SettingFailure(source: index + 1, name: nil, error))
                }
            }
            return reading
        }

        /// Lists the entries of a domain. Damaged entries are failures.
        /// - Returns: The names of the entries that are not damaged.
        private func list(_ source: Int, into reading: inout SettingReading) async throws -> [String] {
            let damaged = Mutex<[SettingFailure]>([])
            let names = try await storage.names(
                of: domains[source - 1],
                onDamage: .report { record, reason in
                    damaged.withLock { $0.append(SettingFailure(source: source, name: record.name, reason)) }
                })
            let failures = damaged.withLock(\.self)
            reading.failures += failures
            reading.listed[source] = Set(names + failures.compactMap(\.name))
            return names
        }

        private func read(_ slot: SettingSlot, into reading: inout SettingReading) async throws {
            do { reading.states[slot] = try await read(slot) } catch let error as StorageError where error.code != .cancelled {
                reading.failures.append(SettingFailure(slot, error))
            }
        }

        /// Reads one value.
        /// - Throws: ``StorageError`` if the value could not be read. An entry of a domain that is no configuration
        ///   value is a state, not an error.
        func read(_ slot: SettingSlot) async throws -> SettingState {
            let key = key(of: slot)
            do { return try await read(key.opened, key) } catch let error as StorageError {
                guard let state = Self.state(for: error, slot) else { throw error }
                return state
            }
        }

        private func read<Key: OpenedKey>(_ opened: Key, _ key: AnyStorageKey) async throws -> SettingState {
            try state(of: try await storage.value(for: opened.typed), key)
        }

        /// Follows one value: calls a closure with the current state, and again after each change.
        /// - Throws: ``StorageError`` when the value cannot be read.
        func follow(_ slot: SettingSlot, _ body: (SettingState) -> Void) async throws {
            let key = key(of: slot)
            do { try await follow(key.opened, key, body) } catch let error as StorageError {
                guard let state = Self.state(for: error, slot) else { throw error }
                body(state)
            }
        }

        private func follow<Key: OpenedKey>(_ opened: Key, _ key: AnyStorageKey, _ body: (SettingState) -> Void) async throws {
            for try await value in storage.values(for: opened.typed) { body(try state(of: value, key)) }
        }

        // MARK: States

        /// The storage key of a slot. An entry of a domain is read as a document, which can have any type.
        private func key(of slot: SettingSlot) -> AnyStorageKey {
            if slot.isDeclared, let key = keys[slot.name] { return key }
            return .key(StorageKey<DocumentValue>(name: slot.name, domain: domains[slot.source - 1]))
        }

        /// The state of an entry that is no configuration value; nil for an error of the store.
        private static func state(for error: StorageError, _ slot: SettingSlot) -> SettingState? {
            guard !slot.isDeclared else { return nil }
            return switch error.code {
            case .unregisteredKey, .invalidName: .absent
            case .undecodable, .incompatibleSchema: .failed(error)
            default: nil
            }
        }

        private func state<Value: Encodable>(of value: Value?, _ key: AnyStorageKey) throws -> SettingState {
            guard let value else { return .absent }
            let document = try document(of: value, key.name)
            return document.isNull ? .absent : .value(document, isSecret: isSecret(key))
        }

        private func document<Value: Encodable>(of value: Value, _ name: String) throws -> DocumentValue {
            if let document = value as? DocumentValue { return document }
            if let data = value as? Data { return .data(data) }
            do { return try StoredDocument(encoding: value).root } catch {
                // The error of an encoder can contain the value.
                throw StorageError(.encodingFailed, key: name, "The value has no JSON form, so it is not a configuration value.")
            }
        }

        /// Whether the value of a key is encrypted, or in a keyring. If that is unknown, it counts as a secret.
        private func isSecret(_ key: AnyStorageKey) -> Bool { (try? storage.protection(of: key)) != ProtectionLevel.plain }
    }
#endif
