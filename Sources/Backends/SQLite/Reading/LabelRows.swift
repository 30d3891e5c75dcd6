#if SQLite
    import BackendContract
    import Sealing

    extension DatabaseWriter.Rows {
        /// Updates the labels of a value, by which queries find it. Only labels that differ are written. Call this
        /// before the row of the value is changed.
        /// - Parameters:
        ///   - address: The namespace and name of the value.
        ///   - row: The current row; nil if there is none.
        ///   - metadata: The metadata of the new value; nil if the value is deleted or replaced by a tombstone, which
        ///     is the record of a removal.
        ///   - keyset: The data keys.
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
                // The row does not open, so its labels are unknown. Remove the slot from every label.
                for key in [keyset.active] + keyset.decryptOnly { try labels.purge(slot(of: address, key), keyset) }
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

        /// Creates the tables of labels, fills them from the existing rows, and adds the feature to the header.
        private func addLabels(_ keyset: Keyset) throws(BackendError) {
            try add(.labels, keyset)
            let made = try LabelWriter(statements)
            try fill(made, keyset)
            labels = made
        }

        /// Creates the tables of a feature, which is an extension of the format, and adds the feature to the header.
        func add(_ feature: DatabaseFeature, _ keyset: Keyset) throws(BackendError) {
            let other = header.adding(feature, keyset)
            do throws(SQLiteFault) {
                for table in feature.tables { try finder.database.execute(table) }
                try other.write(to: finder.database)
            } catch { throw error.backendError() }
            header = other
        }

        /// Adds the labels of the existing values. The values of the namespace `.values` have no labels. Rows that do
        /// not open are skipped; listings report them as damaged.
        private func fill(_ labels: LabelWriter, _ keyset: Keyset) throws(BackendError) {
            try finder.database.rows("SELECT slot, version, sealed FROM records") { (statement) throws(BackendError) in
                let row = RawRow(statement, firstColumn: 0)
                guard case .content(let content, _) = row.open(keyset) else { return }
                let namespace = content.address.namespace
                guard namespace != .values, content.kind == .value, let slot = row.slot, let key = row.key(keyset) else { return }
                try labels.add(Label.labels(of: content.metadata, namespace), Array(slot), key)
                if let day = content.metadata.modifiedAt.flatMap(Label.day) { try labels.use(day, namespace, key) }
            }
        }

        /// Rebuilds all labels and counts from the rows. Entries that lead to a damaged row are kept, so that pages of
        /// query results continue to report the row.
        func rebuildLabels(_ keyset: Keyset) throws(BackendError) {
            guard let labels else { return }
            var kept: [(label: [UInt8], slot: [UInt8], key: DataKey)] = []
            for entry in try labels.entries() where entry.slot.count == DataKey.slotLength {
                let damage = try onDatabase { () throws(SQLiteFault) in try finder.damage(of: entry.slot, keyset) }
                if damage == nil { continue }
                kept.append((entry.label, entry.slot, try labels.key(of: entry.label, keyset) ?? keyset.active))
            }
            try labels.clear()
            try fill(labels, keyset)
            for entry in kept { try labels.add(entry.label, entry.slot, entry.key) }
        }
    }
#endif
