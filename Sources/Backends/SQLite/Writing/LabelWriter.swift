#if SQLite
    import BackendContract
    import Sealing

    /// Writes labels and their counts inside one transaction. A label is a property by which queries find values. Its
    /// entries are slots, which are keyed hashes of the values' names. A count has the number of a label's entries and
    /// a sum of keyed hashes of them. So missing and forged entries are detected.
    ///
    /// If many rows of a batch share a label, the label is hashed once and its count is sealed once.
    final class LabelWriter {
        private struct Known: Hashable {
            /// The id of the data key, as a number.
            let key: UInt64
            let label: Label
        }

        /// The hash of a label, as a key of a dictionary. An array would be hashed byte by byte.
        private struct Name: Hashable {
            let bytes: [UInt8]

            init(_ bytes: [UInt8]) { self.bytes = bytes }

            func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
        }

        /// The current count of a label. ``count`` is nil if the stored count does not open, or is missing although the
        /// label has entries. Such a count is left unchanged, so that a check of the database finds the damage.
        private struct Tally {
            let key: DataKey
            var count: CountedSum?
        }

        private let statements: LabelStatements
        private var known: [Known: [UInt8]] = [:]
        private var days: Set<Name> = []
        private var tallies: [Name: Tally] = [:]
        /// The tallies that the current call has changed, each with its value before the call.
        private var journal: [(label: [UInt8], before: Tally?)] = []

        init(_ statements: WriterStatements) throws(BackendError) {
            do throws(SQLiteFault) { self.statements = try statements.labels() } catch { throw error.backendError() }
        }

        // MARK: Entries

        /// Adds a slot to labels.
        func add(_ labels: Set<Label>, _ slot: [UInt8], _ key: DataKey) throws(BackendError) {
            for label in labels { try add(bytes(label, key), slot, key) }
        }

        /// Adds a slot to a label.
        func add(_ label: [UInt8], _ slot: [UInt8], _ key: DataKey) throws(BackendError) {
            try load(label, key)
            // An entry that existed already is part of the count, unless another program inserted it.
            if try !statements.insert(label, slot), try isCounted(label, slot) { return }
            change(label) { $0.add(key.term(of: slot, under: label)) }
        }

        /// Removes a slot from labels that have it as an entry.
        func remove(_ labels: Set<Label>, _ slot: [UInt8], _ key: DataKey) throws(BackendError) {
            for label in labels {
                let label = bytes(label, key)
                try load(label, key)
                try statements.delete(label, slot)
                change(label) { $0.remove(key.term(of: slot, under: label)) }
            }
        }

        /// Removes an entry that another program may have inserted. The count changes only if it includes the entry.
        func drop(_ label: [UInt8], _ slot: [UInt8], _ keyset: Keyset) throws(BackendError) {
            guard let key = try key(of: label, keyset) else { return try statements.delete(label, slot) }
            let isCounted = try isCounted(label, slot)
            try statements.delete(label, slot)
            if isCounted { change(label) { $0.remove(key.term(of: slot, under: label)) } }
        }

        /// Removes a slot from every label.
        func purge(_ slot: [UInt8], _ keyset: Keyset) throws(BackendError) {
            for label in try statements.labels(of: slot) { try drop(label, slot, keyset) }
        }

        /// Removes every label that has a count under the given key. Call this when no row of the key is left. The
        /// labels that remain under the key are lists of days, because a day stays listed after its values are gone.
        /// Labels without a count under the key are kept.
        func purge(_ key: DataKey) throws(BackendError) {
            for (label, sealed) in try statements.counts() where key.openCount(sealed, of: label) != nil {
                try statements.deleteLabel(label)
                tallies[Name(label)] = nil
            }
        }

        /// Returns whether an entry exists.
        func hasEntry(_ label: [UInt8], _ slot: [UInt8]) throws(BackendError) -> Bool { try statements.hasEntry(label, slot) }

        /// Returns every slot that has a label. Reads the whole table.
        func slots() throws(BackendError) -> Set<[UInt8]> {
            try statements.slots().filter { $0.count == DataKey.slotLength }
        }

        /// Returns every entry. Reads the whole table.
        func entries() throws(BackendError) -> [(label: [UInt8], slot: [UInt8])] { try statements.entries() }

        /// Removes every entry and every count.
        func clear() throws(BackendError) {
            try statements.clear()
            (tallies, days) = ([:], [])
        }

        /// Adds a day on which a value was changed to the list of days. The day stays in the list after its values are
        /// gone.
        func use(_ day: Int64, _ namespace: StorageNamespace, _ key: DataKey) throws(BackendError) {
            let label = bytes(.days(namespace), key)
            let hidden = key.hiddenDay(day, under: label)
            guard days.insert(Name(label + hidden)).inserted else { return }
            try load(label, key)
            // A program without the key cannot insert a valid day, so an existing entry is already counted.
            if try statements.insert(label, hidden) { change(label) { $0.add(key.term(of: hidden, under: label)) } }
        }

        private func bytes(_ label: Label, _ key: DataKey) -> [UInt8] {
            let place = Known(key: key.number, label: label)
            if let bytes = known[place] { return bytes }
            let bytes = key.label(of: label.fields)
            // Attributes may differ in every row, so the cache is bounded.
            if known.count < 256 { known[place] = bytes }
            return bytes
        }

        // MARK: Counts

        /// Reads the count of a label before its entries are changed.
        private func load(_ label: [UInt8], _ key: DataKey) throws(BackendError) {
            guard tallies[Name(label)] == nil else { return }
            let count: CountedSum?
            if let sealed = try statements.count(of: label) {
                count = key.openCount(sealed, of: label)
            } else {
                count = try statements.slots(of: label).isEmpty ? CountedSum() : nil
            }
            journal.append((label, nil))
            tallies[Name(label)] = Tally(key: key, count: count)
        }

        /// Returns the key of a label, which is the key that opens its count; nil if none does.
        func key(of label: [UInt8], _ keyset: Keyset) throws(BackendError) -> DataKey? {
            if let tally = tallies[Name(label)] { return tally.key }
            guard let sealed = try statements.count(of: label),
                let key = ([keyset.active] + keyset.decryptOnly).first(where: { $0.openCount(sealed, of: label) != nil })
            else { return nil }
            try load(label, key)
            return key
        }

        /// Returns whether the count of a label includes an existing entry. It does, unless the count equals the sum of
        /// all other entries.
        private func isCounted(_ label: [UInt8], _ slot: [UInt8]) throws(BackendError) -> Bool {
            guard let tally = tallies[Name(label)], let count = tally.count else { return false }
            var others = CountedSum()
            for other in try statements.slots(of: label) where other != slot { others.add(tally.key.term(of: other, under: label)) }
            return count != others
        }

        /// Returns whether the entries of a label match its count.
        func isWhole(_ label: [UInt8], _ keyset: Keyset) throws(BackendError) -> Bool {
            guard let key = try key(of: label, keyset) else {
                guard try statements.count(of: label) == nil else { return false }
                return try statements.slots(of: label).isEmpty
            }
            var all = CountedSum()
            for slot in try statements.slots(of: label) { all.add(key.term(of: slot, under: label)) }
            return tallies[Name(label)]?.count == all
        }

        private func change(_ label: [UInt8], _ change: (inout CountedSum) -> Void) {
            guard let tally = tallies[Name(label)], var count = tally.count else { return }
            journal.append((label, tally))
            change(&count)
            tallies[Name(label)] = Tally(key: tally.key, count: count)
        }

        /// Begins a call whose changes ``undoCall()`` can revert.
        func beginCall() { journal.removeAll(keepingCapacity: true) }

        /// Reverts the counts that the current call has changed.
        func undoCall() {
            for (label, before) in journal.reversed() { tallies[Name(label)] = before }
            journal = []
            days = []
        }

        /// Writes the counts of all labels that the transaction has used, once for all of its calls.
        func flush(_ randomBytes: (Int) -> [UInt8]) throws(BackendError) {
            for (label, tally) in tallies {
                guard let count = tally.count else { continue }
                if count.isNone {
                    try statements.deleteCount(label.bytes)
                } else {
                    try statements.putCount(label.bytes, try tally.key.seal(count, of: label.bytes, randomBytes))
                }
            }
        }
    }
#endif
