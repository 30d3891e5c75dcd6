#if SQLite
    import BackendContract
    import Sealing

    /// The choice of the label that answers a query. A label is a property by which values are indexed, and its entries
    /// are the slots of these values.
    extension PageReader {
        /// A label whose entries answer a query, and the condition that all values with this label meet.
        struct LabelChoice {
            /// Nil if the query is answered by several labels: one for each day on which values were changed.
            let label: Label?
            let condition: StorageQuery.Condition?
            /// Whether the label leads to every value that the query may return.
            var isWhole = true
        }

        /// Chooses the label that probably leads to the fewest values. Only values that the label leads to are opened.
        /// The first of these labels that is possible is chosen:
        ///
        /// 1. the label of the first attribute in the query, unless some values have attributes without labels;
        /// 2. the label of the first type in the query;
        /// 3. the labels of days, if the query limits the time of change;
        /// 4. the label of all values.
        ///
        /// - Parameter position: The end of the previous page; nil for the first page. Every page uses the same label
        ///   as the first one.
        func choice(
            _ query: StorageQuery, _ keyset: Keyset, _ position: PageCursor.Position?
        ) throws(Interruption) -> LabelChoice {
            var (attribute, type): (StorageQuery.Condition?, StorageQuery.Condition?)
            var isOfDays = false
            for condition in query.conditions {
                switch condition {
                case .attribute: attribute = attribute ?? condition
                case .typeTag: type = type ?? condition
                case .modified: isOfDays = true
                }
            }
            if let attribute, case .attribute(let name, let value) = attribute {
                let label = Label.attribute(name, value, query.namespace)
                let isUnindexed = try holdsUnindexed(query.namespace, keyset)
                let began = position.map { position in keyset.key(position.key)?.label(of: label.fields) == position.label }
                // A value may have lost its attribute labels since the first page was read. The other pages would not
                // list this value, so the result counts as incomplete.
                if began ?? !isUnindexed { return LabelChoice(label: label, condition: attribute, isWhole: !isUnindexed) }
            }
            if let type, case .typeTag(let tag) = type { return LabelChoice(label: .type(tag, query.namespace), condition: type) }
            return LabelChoice(label: isOfDays ? nil : .all(query.namespace), condition: nil)
        }

        /// Returns whether the values under a label must be opened to check a query's single condition.
        func isFiltered(_ query: StorageQuery, _ label: Label) -> Bool { !query.conditions.isEmpty && label == .all(query.namespace) }

        /// Returns whether a namespace may have values whose attributes are not indexed. Such values have a separate
        /// label. Returns true if this label has an entry or a count.
        /// Reason: "A record stores whether its attributes are indexed" in Docs/Decisions/Database.md.
        private func holdsUnindexed(_ namespace: StorageNamespace, _ keyset: Keyset) throws(Interruption) -> Bool {
            let statement = try kept(
                &anyEntry,
                "SELECT 1 WHERE EXISTS (SELECT 1 FROM labels WHERE label = ?1) OR EXISTS (SELECT 1 FROM counts WHERE label = ?1)")
            for key in [keyset.active] + keyset.decryptOnly {
                let label = key.label(of: Label.unindexed(namespace).fields)
                try bind { () throws(SQLiteFault) in try statement.bind(label, at: 1) }
                defer { statement.reset() }
                if try step(statement) { return true }
            }
            return false
        }
    }
#endif
