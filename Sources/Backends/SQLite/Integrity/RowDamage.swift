#if SQLite
    import BackendContract
    import Sealing

    /// The location of damage: a row, or an entry of the table of labels (an index for queries). A row is identified by
    /// its id and a digest of its content. The user refers to the location by a damage handle, which encodes it.
    enum DamagePlace: Hashable {
        /// The row at an id, as long as its bytes have this digest.
        case row(id: Int64, digest: [UInt8])
        /// An entry of the table of labels that leads to no value. The slot in the entry is a keyed hash of the value's
        /// name. An empty slot means damage to a whole label: its entries do not match its count.
        case label([UInt8], slot: [UInt8])

        private static let (digestLength, labelLength) = (32, 16)

        var handle: DamageHandle {
            switch self {
            case .row(let id, let digest): DamageHandle([0] + withUnsafeBytes(of: id.bigEndian) { Array($0) } + digest)
            case .label(let label, let slot): DamageHandle([1] + label + slot)
            }
        }

        /// Decodes ``handle``; nil for anything else.
        init?(_ handle: DamageHandle) {
            let rest = handle.bytes.dropFirst()
            switch handle.bytes.first {
            case 0 where rest.count == 8 + Self.digestLength:
                let id = Int64(bitPattern: rest.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
                self = .row(id: id, digest: Array(rest.dropFirst(8)))
            case 1 where rest.count >= Self.labelLength:
                self = .label(Array(rest.prefix(Self.labelLength)), slot: Array(rest.dropFirst(Self.labelLength)))
            default: return nil
            }
        }
    }

    extension RawRow {
        /// Returns the damage of the row; nil if it has none.
        /// - Parameters:
        ///   - isReachable: Whether a read of the row's slot finds the row; see ``DatabaseScanner/Places``.
        ///   - keyset: The keys, read in the same transaction as the row.
        ///   - countsDestroyed: Whether a row whose key was destroyed counts as damaged. If a label leads to the row,
        ///     it does. In a list of all rows it does not, because such a row only occupies an id.
        ///   - countsDestroyed: Whether a row counts as damaged if its key has been destroyed. A list ignores such a
        ///     row, because it only occupies an id. The row counts as damaged if a label leads to it.
        func damage(isReachable: Bool, _ keyset: Keyset, countsDestroyed: Bool = false) -> StorageCorruption? {
            guard isReachable else {
                return corruption("is in a wrong place, where no read finds it: another program copied or moved it")
            }
            switch open(keyset) {
            case .content: return nil
            case .destroyed: return countsDestroyed ? corruption("names a destroyed key") : nil
            case .damaged(let corruption), .stranger(let corruption): return corruption
            case .refused: return corruption("has a format that this version of the library does not know")
            }
        }

        /// The row as bytes from which it can be restored: counted slot, 8-byte version, counted sealed bytes. A
        /// counted field is preceded by its length in 4 bytes.
        var exported: [UInt8] {
            func counted(_ bytes: UnsafeRawBufferPointer?) -> [UInt8] {
                let content = bytes.map { Array($0) } ?? []
                return withUnsafeBytes(of: UInt32(truncatingIfNeeded: content.count).bigEndian) { Array($0) } + content
            }
            return counted(slot) + withUnsafeBytes(of: (version ?? -1).bigEndian) { Array($0) } + counted(sealed)
        }

        /// Returns the damaged row in the form in which listings report a slot whose name cannot be read.
        func damagedSlot(at id: Int64, _ corruption: StorageCorruption) -> DamagedSlot {
            DamagedSlot(
                DamagePlace.row(id: id, digest: corruption.revision?.bytes ?? []).handle,
                StorageCorruption(bytes: exported, revision: corruption.revision, reason: corruption.reason))
        }
    }

    extension RowFinder {
        /// Finds the damage of the row at an id. Must be called in a transaction.
        /// - Returns: The damaged row, and its slot if that has a valid length. Nil if there is no row, or it is not
        ///   damaged.
        func damage(at id: Int64, _ keyset: Keyset) throws(SQLiteFault) -> (row: DamagedSlot, slot: [UInt8]?)? {
            var places = DatabaseScanner.Places()
            for place in try beginningOfRun(before: id)..<id { _ = try row(at: place) { places.isReachable(place, $0.slot) } }
            let found = try row(at: id) { row -> (DamagedSlot, [UInt8]?)? in
                guard let corruption = row.damage(isReachable: places.isReachable(id, row.slot), keyset, countsDestroyed: true)
                else { return nil }
                return (row.damagedSlot(at: id, corruption), row.slot.flatMap { $0.count == DataKey.slotLength ? Array($0) : nil })
            }
            return found.flatMap(\.self)
        }

        /// Finds the first damaged row that a search for a slot meets; nil if there is none. A search goes up from the
        /// slot's home id, which is computed from the slot.
        func damage(of slot: [UInt8], _ keyset: Keyset) throws(SQLiteFault) -> DamagedSlot? {
            var id = Self.home(of: slot)
            while try row(at: id, { _ in () }) != nil {
                if let found = try damage(at: id, keyset) { return found.row }
                id += 1
            }
            return nil
        }

        /// Returns the first id of the run of consecutive ids that ends just before the given id.
        func beginningOfRun(before id: Int64) throws(SQLiteFault) -> Int64 {
            var first = id
            while first > .min, try row(at: first - 1, { _ in () }) != nil { first -= 1 }
            return first
        }

        /// Returns whether a slot has a row under any of the keys.
        func isOccupied(_ slot: [UInt8], _ keyset: Keyset) throws(SQLiteFault) -> Bool {
            for key in keyset.all { if case .found = try find(slot, key, keyset, inTransaction: true) { return true } }
            return false
        }

        /// Returns whether an entry of the table of labels leads to no value with that label. Returns false if it leads
        /// to a damaged row, which is reported separately.
        func isStray(_ label: [UInt8], _ slot: [UInt8], _ keyset: Keyset) throws(SQLiteFault) -> Bool {
            guard slot.count == DataKey.slotLength else { return true }
            for key in [keyset.active] + keyset.decryptOnly {
                if key.day(hiddenIn: slot, under: label) != nil { return false }
                switch try find(slot, key, keyset, inTransaction: true) {
                case .absent, .needsTransaction: continue
                case .found(let found):
                    switch found.probe {
                    case .value(let record):
                        guard let namespace = found.address?.namespace else { return true }
                        return !Label.labels(of: record.metadata, namespace).contains { found.key.label(of: $0.fields) == label }
                    case .tombstone, .absent, .locked: return true
                    case .corrupt, .unavailable: return false
                    }
                }
            }
            return true
        }
    }

    extension DatabaseWriter.Rows {
        /// Deletes the row or label entry that a damage handle identifies, and every label entry that leads to the row.
        /// For a whole label, rebuilds all labels.
        /// - Returns: False if the damage has changed since the handle was made, or is gone.
        func deleteDamage(_ place: DamagePlace, _ keyset: Keyset) throws(BackendError) -> Bool {
            switch place {
            case .row(let id, _):
                let found = try onDatabase { () throws(SQLiteFault) in try finder.damage(at: id, keyset) }
                guard let found, found.row.handle == place.handle else { return false }
                try delete(at: id)
                try purgeLabels(leadingTo: id, found.slot, keyset)
            case .label(let label, let slot) where slot.isEmpty:
                guard let labels, try !labels.isWhole(label, keyset) else { return false }
                try rebuildLabels(keyset)
            case .label(let label, let slot):
                guard let labels, try labels.hasEntry(label, slot) else { return false }
                guard try onDatabase({ () throws(SQLiteFault) in try finder.isStray(label, slot, keyset) }) else { return false }
                try labels.drop(label, slot, keyset)
            }
            return true
        }

        /// Removes the labels of a row that was deleted. The slot in the row may have been overwritten, so all slots in
        /// the table of labels with the same home id are checked too. A slot is removed from its labels if no row has
        /// the slot.
        private func purgeLabels(leadingTo id: Int64, _ slot: [UInt8]?, _ keyset: Keyset) throws(BackendError) {
            guard let labels else { return }
            var candidates = Set(slot.map { [$0] } ?? [])
            for named in try labels.slots() where RowFinder.home(of: named) == id {
                candidates.insert(named)
            }
            for candidate in candidates {
                let isOccupied = try onDatabase { () throws(SQLiteFault) in try finder.isOccupied(candidate, keyset) }
                if !isOccupied { try labels.purge(candidate, keyset) }
            }
        }
    }
#endif
