#if SQLite
    import BackendContract
    import Sealing

    /// Writes labels, inside one transaction. A label that many rows of a batch share is hashed once.
    final class LabelWriter {
        private struct Known: Hashable {
            let key: [UInt8]
            let label: Label
        }

        private let statements: LabelStatements
        private var known: [Known: [UInt8]] = [:]
        private var days: Set<[UInt8]> = []

        init(_ statements: WriterStatements) throws(BackendError) {
            do throws(SQLiteFault) { self.statements = try statements.labels() } catch { throw error.backendError() }
        }

        /// Adds a slot to labels.
        func add(_ labels: Set<Label>, _ slot: [UInt8], _ key: DataKey) throws(BackendError) {
            for label in labels { try statements.insert(bytes(label, key), slot) }
        }

        /// Removes a slot from labels.
        func remove(_ labels: Set<Label>, _ slot: [UInt8], _ key: DataKey) throws(BackendError) {
            for label in labels { try statements.delete(bytes(label, key), slot) }
        }

        /// Removes one entry.
        func remove(entry label: [UInt8], _ slot: [UInt8]) throws(BackendError) { try statements.delete(label, slot) }

        /// Whether there is an entry.
        func hasEntry(_ label: [UInt8], _ slot: [UInt8]) throws(BackendError) -> Bool { try statements.hasEntry(label, slot) }

        /// Every slot that has a label: it reads the whole table.
        func slots() throws(BackendError) -> Set<[UInt8]> { try statements.slots() }

        /// Removes a slot from every label.
        func purge(_ slot: [UInt8]) throws(BackendError) { try statements.purge(slot) }

        /// Records a day as one that is in use. It stays recorded when its values are gone.
        func use(_ day: Int64, _ namespace: StorageNamespace, _ key: DataKey) throws(BackendError) {
            let label = bytes(.days(namespace), key)
            let hidden = key.hiddenDay(day, under: label)
            guard days.insert(label + hidden).inserted else { return }
            try statements.insert(label, hidden)
        }

        /// Writes a changed header.
        func write(_ header: DatabaseHeader) throws(BackendError) {
            try statements.setHeader("features", DatabaseFeature.bytes(of: header.features))
            try statements.setHeader("tag", header.tag)
        }

        private func bytes(_ label: Label, _ key: DataKey) -> [UInt8] {
            let place = Known(key: key.id, label: label)
            if let bytes = known[place] { return bytes }
            let bytes = key.label(of: label.fields)
            // Attributes may differ in every row, so the cache is bounded.
            if known.count < 256 { known[place] = bytes }
            return bytes
        }
    }

    extension DatabaseWriter.Rows {
        /// Updates the labels of a name, before its row is changed. Only labels that differ are written.
        /// - Parameters:
        ///   - address: The name.
        ///   - row: Its current row; nil where there is none.
        ///   - metadata: That of the new value; nil for a removal or a tombstone.
        ///   - keyset: The keys.
        func relabel(
            _ address: StorageAddress, _ row: RowFinder.Found?, _ metadata: StorageMetadata?, _ keyset: Keyset
        ) throws(BackendError) {
            let namespace = address.namespace
            guard namespace != .values else { return }
            if labels == nil, metadata != nil { try addLabels(keyset) }
            guard let labels else { return }
            var old: Set<Label> = []
            switch row?.probe {
            case .value(let record): old = Label.labels(of: record.metadata, namespace)
            case .corrupt:
                // Its labels are not known.
                for key in [keyset.active] + keyset.decryptOnly { try labels.purge(slot(of: address, key)) }
            default: break
            }
            let new = metadata.map { Label.labels(of: $0, namespace) } ?? []
            let active = keyset.active
            if let row, row.key.id != active.id {
                try labels.remove(old, slot(of: address, row.key), row.key)
                old = []
            } else {
                try labels.remove(old.subtracting(new), slot(of: address, active), active)
            }
            let added = new.subtracting(old)
            guard !added.isEmpty else { return }
            try labels.add(added, slot(of: address, active), active)
            if let day = metadata?.modifiedAt.flatMap(Label.day), added.contains(.day(day, namespace)) {
                try labels.use(day, namespace, active)
            }
        }

        private func slot(of address: StorageAddress, _ key: DataKey) -> [UInt8] { key.slot(of: address, table: DatabaseFormat.table) }

        /// Creates the table of labels, fills it for every row that has labels, and adds the feature to the header.
        private func addLabels(_ keyset: Keyset) throws(BackendError) {
            do throws(SQLiteFault) { for table in DatabaseFeature.labels.tables { try finder.database.execute(table) } } catch {
                throw error.backendError()
            }
            let made = try LabelWriter(statements)
            try finder.database.rows("SELECT slot, version, sealed FROM records") { (statement) throws(BackendError) in
                let row = RawRow(statement, firstColumn: 0)
                // A damaged row is reported by its handle. No value outside the namespace of values was there before the labels.
                guard case .content(let content, _) = row.open(keyset) else { return }
                let namespace = content.address.namespace
                guard namespace != .values, content.kind == .value, let slot = row.slot, let key = row.key(keyset) else { return }
                try made.add(Label.labels(of: content.metadata, namespace), Array(slot), key)
                if let day = content.metadata.modifiedAt.flatMap(Label.day) { try made.use(day, namespace, key) }
            }
            header = header.adding(.labels, keyset)
            try made.write(header)
            labels = made
        }
    }
#endif
