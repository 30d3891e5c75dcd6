#if SQLite
    import BackendContract
    import Sealing

    /// The position of an enumeration, which reads the results of a query page by page. It contains slots, which are
    /// keyed hashes of names, so it cannot be interpreted without the keys.
    enum PageCursor {
        /// A position in a list of all rows, sorted by slot. The next page begins after this slot. `mark` is the result
        /// of ``mark(_:state:)`` when the previous page was read. If that function returns another mark when the next
        /// page is read, rows may have been resealed (sealed again with another key), and the enumeration fails.
        case scan(mark: [UInt8], slot: [UInt8])
        /// A position in the entries of a label. A label is a property by which values are indexed, and an entry is the
        /// slot of a value with this label.
        case label(Position)

        /// A position in the entries of a label. If the label is that of a day, `day` is this day, otherwise 0.
        struct Position {
            /// The first bytes of the header's tag when the previous page was read. If the database has another tag
            /// when the next page is read, its keys may have changed, and with them the labels, which are computed with
            /// keys.
            var tag: [UInt8]
            var key: [UInt8]
            var day: Int64
            var label: [UInt8]
            var slot: [UInt8]
            /// The sums over the label's entries, up to the entry with this slot.
            var walked: Walked
            /// The ranges of slots that the enumeration has already listed, in the order in which they were listed.
            var met: [Met]
        }

        /// A range of slots that an enumeration has listed under one key. The range covers the rows that had the label
        /// at that time and a slot from `first` to `last`. A row that is resealed later gets a slot under another key.
        /// This range prevents the row from being listed twice.
        struct Met: Hashable {
            let key: [UInt8]
            let first: [UInt8]
            var last: [UInt8]

            /// The maximum number of ranges in a cursor. A new range begins if rows before it were resealed since the
            /// previous page.
            /// Reason: "An enumeration lists a resealed row once" in Docs/Decisions/Keys.md.
            static let maximum = 32
            static let length = SealingKey.idLength + 2 * DataKey.slotLength

            var bytes: [UInt8] { key + first + last }

            func contains(_ slot: [UInt8]) -> Bool { !slot.lexicographicallyPrecedes(first) && !last.lexicographicallyPrecedes(slot) }
        }

        /// The sums over the entries that an enumeration has read under a label. At the end they are compared with the
        /// label's count.
        struct Walked: Hashable {
            /// The first bytes of the label's sealed count when the enumeration of the label began. If the count begins
            /// with other bytes at the end, the label was changed during the enumeration.
            var mark: [UInt8]
            /// Whether all labels before this one matched their counts.
            var isWhole: Bool
            /// The sum of all entries.
            var all = CountedSum()
            /// The sum of the entries that lead to a value with the label, or to a damaged row.
            var genuine = CountedSum()

            static let markLength = 8
            static let length = markLength + 1 + 2 * CountedSum.length

            var bytes: [UInt8] { mark + [isWhole ? 1 : 0] + all.bytes + genuine.bytes }
        }

        private static let tagLength = 8
        private static let markLength = SealingKey.idLength + 8

        /// Returns a mark that stays the same as long as no row can have been resealed. It has the id of the active
        /// key. While there are decrypt-only keys (former active keys, whose rows are being resealed), it also has the
        /// beginning of the sealed state, which every commit rewrites.
        static func mark(_ keyset: Keyset, state: [UInt8]?) -> [UInt8] {
            let state = keyset.decryptOnly.isEmpty ? [] : Array((state ?? []).prefix(8))
            return keyset.active.id + state + [UInt8](repeating: 0, count: 8 - state.count)
        }

        /// Returns the part of a header's tag that distinguishes one set of keys from another.
        static func tag(_ header: DatabaseHeader) -> [UInt8] { Array(header.tag.prefix(tagLength)) }

        var cursor: StorageCursor {
            switch self {
            case .scan(let mark, let slot): return StorageCursor([0] + mark + slot)
            case .label(let place):
                let day = withUnsafeBytes(of: place.day.bigEndian) { Array($0) }
                let met = [UInt8(place.met.count)] + place.met.flatMap(\.bytes)
                return StorageCursor([1] + place.tag + place.key + day + place.label + place.slot + place.walked.bytes + met)
            }
        }

        /// Decodes ``cursor``.
        init(_ cursor: StorageCursor) throws(BackendError) {
            var rest = cursor.bytes.dropFirst()
            func take(_ count: Int) -> [UInt8] {
                defer { rest = rest.dropFirst(count) }
                return Array(rest.prefix(count))
            }
            let slot = DataKey.slotLength
            switch (cursor.bytes.first, rest.count) {
            case (0, Self.markLength + slot): self = .scan(mark: take(Self.markLength), slot: take(slot))
            case (1, (Self.tagLength + SealingKey.idLength + 8 + 2 * slot + Walked.length + 1)...):
                let (tag, key) = (take(Self.tagLength), take(SealingKey.idLength))
                let day = Int64(bitPattern: take(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
                let (label, place) = (take(slot), take(slot))
                var walked = Walked(mark: take(Walked.markLength), isWhole: take(1) == [1])
                guard let all = CountedSum(bytes: take(CountedSum.length)), let genuine = CountedSum(bytes: take(CountedSum.length)) else {
                    throw StorageCursor.stranger
                }
                (walked.all, walked.genuine) = (all, genuine)
                let count = Int(take(1)[0])
                guard count <= Met.maximum, rest.count == count * Met.length else { throw StorageCursor.stranger }
                let met = (0..<count).map { _ in Met(key: take(SealingKey.idLength), first: take(slot), last: take(slot)) }
                self = .label(Position(tag: tag, key: key, day: day, label: label, slot: place, walked: walked, met: met))
            default: throw StorageCursor.stranger
            }
        }
    }
#endif
