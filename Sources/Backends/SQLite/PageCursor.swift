#if SQLite
    import BackendContract
    import Sealing

    /// The position of an enumeration. It names slots, which mean nothing without the keys.
    enum PageCursor {
        /// Among all rows, in the order of their slots: after this one. The mark says that no row was moved meanwhile.
        case scan(mark: [UInt8], slot: [UInt8])
        /// Under a label.
        case label(Position)

        /// A slot under a label of a key, with the day of the label, or 0 where the label is not of a day.
        struct Position {
            /// The beginning of the header's tag: other keys make other labels.
            var tag: [UInt8]
            var key: [UInt8]
            var day: Int64
            var label: [UInt8]
            var slot: [UInt8]
            /// The label's entries up to the slot.
            var walked: Walked
            /// The slots that were met under each key, in the order in which they were.
            var met: [Met]
        }

        /// Slots of a key that an enumeration has met: every row between the two that had the label then. Rows that are sealed with another key later have another slot, and
        /// are not met again.
        struct Met: Hashable {
            let key: [UInt8]
            let first: [UInt8]
            var last: [UInt8]

            /// How many an enumeration can keep. Another one begins when rows before it were sealed again since the page before.
            static let maximum = 32
            static let length = SealingKey.idLength + 2 * DataKey.slotLength

            var bytes: [UInt8] { key + first + last }

            func contains(_ slot: [UInt8]) -> Bool { !slot.lexicographicallyPrecedes(first) && !last.lexicographicallyPrecedes(slot) }
        }

        /// What an enumeration has met under a label, to be compared with the label's count at its end.
        struct Walked: Hashable {
            /// The beginning of the sealed count when the label was begun: another one after any change of the label.
            var mark: [UInt8]
            /// Whether all labels before this one were whole.
            var isWhole: Bool
            /// Every entry.
            var all = CountedSum()
            /// The entries that lead to a value with the label, or to a damaged row.
            var genuine = CountedSum()

            static let markLength = 8
            static let length = markLength + 1 + 2 * CountedSum.length

            var bytes: [UInt8] { mark + [isWhole ? 1 : 0] + all.bytes + genuine.bytes }
        }

        private static let tagLength = 8
        private static let markLength = SealingKey.idLength + 8

        /// What says for all rows that none has moved from key to key: the active key, and while another one opens too, the beginning of the sealed state, which is another one
        /// after any commit.
        static func mark(_ keyset: Keyset, state: [UInt8]?) -> [UInt8] {
            let state = keyset.decryptOnly.isEmpty ? [] : Array((state ?? []).prefix(8))
            return keyset.active.id + state + [UInt8](repeating: 0, count: 8 - state.count)
        }

        /// The part of a header's tag that distinguishes one set of keys from another.
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

        /// Reads what ``cursor`` made.
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
