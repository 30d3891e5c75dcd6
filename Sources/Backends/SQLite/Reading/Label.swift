#if SQLite
    import BackendContract
    import Sealing

    /// A property that values of a namespace share, such as a type or an attribute. Queries find values by their
    /// labels. The table of labels stores only a keyed hash of the fields, which cannot be interpreted without the key.
    struct Label: Hashable, Sendable {
        /// The fields that are hashed.
        let fields: Fields

        private init(_ kind: String, _ namespace: StorageNamespace, _ parts: String...) {
            var fields = Fields("LocalData SQLite 1 label")
            fields.add(DatabaseFormat.table)
            fields.add(namespace.name)
            fields.add(kind)
            for part in parts { fields.add(part) }
            self.fields = fields
        }

        /// The label of every value in the namespace.
        static func all(_ namespace: StorageNamespace) -> Label { Label("namespace", namespace) }

        /// The label of the values of a type.
        static func type(_ tag: String, _ namespace: StorageNamespace) -> Label { Label("type", namespace, tag) }

        /// The label of the values that have an attribute.
        static func attribute(_ name: String, _ value: String, _ namespace: StorageNamespace) -> Label {
            Label("attribute", namespace, name, value)
        }

        /// The label of every value whose metadata excludes its attributes from the index, even if the value has no
        /// attributes.
        static func unindexed(_ namespace: StorageNamespace) -> Label { Label("unindexed", namespace) }

        /// The label of the values that were last changed on a day.
        static func day(_ day: Int64, _ namespace: StorageNamespace) -> Label { Label("day", namespace, String(day)) }

        /// The label that lists the days on which values were last changed. Its entries are encrypted days instead of
        /// slots.
        static func days(_ namespace: StorageNamespace) -> Label { Label("days", namespace) }

        /// Returns the labels of a value.
        static func labels(of metadata: StorageMetadata, _ namespace: StorageNamespace) -> Set<Label> {
            var labels: Set<Label> = [all(namespace)]
            if let tag = metadata.typeTag { labels.insert(type(tag, namespace)) }
            if metadata.indexesAttributes {
                for (name, value) in metadata.attributes { labels.insert(attribute(name, value, namespace)) }
            } else {
                labels.insert(unindexed(namespace))
            }
            if let day = metadata.modifiedAt.flatMap(day) { labels.insert(Self.day(day, namespace)) }
            return labels
        }

        /// Returns the day of a time: the number of whole days of 86,400 seconds since 1970. A time before the first or
        /// after the last supported day counts as that day. NaN has no day.
        static func day(of seconds: Double) -> Int64? {
            guard !seconds.isNaN else { return nil }
            return Int64(min(max((seconds / 86_400).rounded(.down), -farDay), farDay))
        }

        private static let farDay = 0x1p52
    }
#endif
