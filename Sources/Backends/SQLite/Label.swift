#if SQLite
    import BackendContract
    import Sealing

    /// Something that values of a namespace have in common, and are found by. The table holds a keyed hash of it, which means nothing
    /// without the key.
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

        /// Every value of the namespace.
        static func all(_ namespace: StorageNamespace) -> Label { Label("namespace", namespace) }

        /// The values of a type.
        static func type(_ tag: String, _ namespace: StorageNamespace) -> Label { Label("type", namespace, tag) }

        /// The values that have an attribute.
        static func attribute(_ name: String, _ value: String, _ namespace: StorageNamespace) -> Label {
            Label("attribute", namespace, name, value)
        }

        /// The values whose attributes have no labels: all of them, whether they have an attribute or not.
        static func unindexed(_ namespace: StorageNamespace) -> Label { Label("unindexed", namespace) }

        /// The values that were last changed on a day.
        static func day(_ day: Int64, _ namespace: StorageNamespace) -> Label { Label("day", namespace, String(day)) }

        /// The days on which values were last changed.
        static func days(_ namespace: StorageNamespace) -> Label { Label("days", namespace) }

        /// The labels of a value.
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

        /// The day of a moment: the whole days of 86,400 seconds since 1970. Moments that no clock shows count as the first or the last
        /// day; NaN has no day.
        static func day(of seconds: Double) -> Int64? {
            guard !seconds.isNaN else { return nil }
            return Int64(min(max((seconds / 86_400).rounded(.down), -farDay), farDay))
        }

        private static let farDay = 0x1p52
    }
#endif
