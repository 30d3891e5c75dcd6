#if SQLite
    package import BackendContract
    package import Sealing

    /// Values of an ordered index, as of one moment.
    package struct OrderedPage: Sendable {
        /// A value of the index, and what has it.
        package struct OrderedEntry: Sendable {
            package let value: [UInt8]
            package let entry: StoragePage.Entry
        }

        /// In the order of the values; those with the same value in an order that means nothing.
        package var entries: [OrderedEntry] = []
        /// Entries of the index that lead to no value which says so of itself, and rows that do not open.
        package var damaged: [DamagedSlot] = []
        /// Whether nothing in the range was left out: neither by the limit, nor by another program that changed the index.
        package var isComplete = true
    }

    /// Values that are found by their order. The values of the index are in the file as they are: an order cannot be hidden from whoever has the file, so only
    /// what may be known belongs there. What they lead to is sealed, and says under its seal by which values it is found.
    extension SQLiteStore {
        /// Stores a value with the values of ordered indexes that it is found by, in one durable step. A later put without them removes them.
        /// - Parameter ordered: At most one for each index.
        package func put(
            _ payload: [UInt8], _ metadata: StorageMetadata = StorageMetadata(), at address: StorageAddress,
            if precondition: StorageMutation.Precondition = .none, ordered: [OrderedValue]
        ) async throws(BackendError) -> MutationResult {
            guard address.namespace != .values else {
                throw BackendError(.unsupported, "Only what is in a collection has ordered values. Nothing was changed.")
            }
            let mutation = StorageMutation.put(.bytes(payload), metadata, at: address, if: precondition)
            return try await apply([mutation], nil, ordered).first ?? .notAttempted
        }

        /// The values of an index in their order, from one value on and below another. Every entry of the index is compared with its sealed count, whatever the range.
        /// - Parameters:
        ///   - index: The name of the index.
        ///   - low: The first value, as ``OrderedValue/bytes(_:)`` makes it, or the beginning of values.
        ///   - high: The value before which the range ends, or the beginning of values; nil for none.
        ///   - limit: The most values.
        package func ordered(
            _ index: String, in namespace: StorageNamespace, from low: [UInt8] = [], below high: [UInt8]? = nil, limit: Int = .max
        ) async throws(BackendError) -> OrderedPage {
            let range = OrderedRange(index: index, namespace: namespace, low: low, high: high, limit: limit)
            return try await scanning { (file, session, isWanted) throws(BackendError) in
                try file.scanner.ordered(range, session, isCurrent: { file.isCurrent(session) }, isWanted: isWanted)
            } ?? OrderedPage()
        }
    }

    /// What is asked of an index.
    private struct OrderedRange: Sendable {
        let index: String
        let namespace: StorageNamespace
        let low: [UInt8]
        let high: [UInt8]?
        let limit: Int

        func contains(_ member: [UInt8]) -> Bool {
            !member.lexicographicallyPrecedes(low) && (high.map { member.lexicographicallyPrecedes($0) } ?? true)
        }
    }

    extension DatabaseScanner {
        fileprivate func ordered(
            _ range: OrderedRange, _ session: DatabaseSession, isCurrent: () -> Bool, isWanted: () -> Bool
        ) throws(BackendError) -> OrderedPage? {
            try reading(session, isCurrent) { (pages) throws(PageReader.Interruption) in try pages.ordered(range, session, isWanted) }
        }
    }

    extension PageReader {
        private struct Candidate {
            let key: DataKey
            let label: [UInt8]
            let member: [UInt8]
            let value: ArraySlice<UInt8>
            let slot: [UInt8]
        }

        fileprivate func ordered(
            _ range: OrderedRange, _ session: DatabaseSession, _ isWanted: () -> Bool
        ) throws(Interruption) -> OrderedPage {
            guard session.header.isIndexed else { return OrderedPage() }
            let keyset = session.keyset
            var page = OrderedPage()
            var candidates: [Candidate] = []
            for key in keyset.decryptOnly + [keyset.active] {
                let source = Source(key: key, day: 0, label: key.label(of: Label.ordered(range.index, range.namespace).fields))
                candidates += try entries(range, source, &page, isWanted)
            }
            // While rows move from key to key, each key has a part of them.
            if !keyset.decryptOnly.isEmpty { candidates.sort { $0.member.lexicographicallyPrecedes($1.member) } }
            for (number, candidate) in candidates.enumerated() {
                if number >= range.limit {
                    page.isComplete = false
                    break
                }
                if number % 64 == 0, !isWanted() { throw .ended }
                try add(candidate, range, keyset, to: &page)
            }
            return page
        }

        /// The entries of an index under one key that are in a range, one more than the limit at most; compares all of its entries with its count.
        private func entries(
            _ range: OrderedRange, _ source: Source, _ page: inout OrderedPage, _ isWanted: () -> Bool
        ) throws(Interruption) -> [Candidate] {
            var candidates: [Candidate] = []
            var walk = PageCursor.Walked(mark: try mark(of: source.label), isWhole: true)
            let statement = try kept(&slots, "SELECT slot FROM labels WHERE label = ?1 AND slot > ?2 ORDER BY slot")
            try bind { () throws(SQLiteFault) in
                try statement.bind(source.label, at: 1)
                try statement.bind([], at: 2)
            }
            defer { statement.reset() }
            var number = 0
            while try step(statement) {
                number += 1
                if number % 1_024 == 0, !isWanted() { throw .ended }
                let member = statement.bytes(0)
                walk.all.add(source.key.term(of: member, under: source.label))
                guard let (value, slot) = Label.parts(of: member) else {
                    page.damaged.append(Self.stray(source.label, member, "names no slot"))
                    continue
                }
                if range.contains(member), candidates.count <= range.limit {
                    candidates.append(Candidate(key: source.key, label: source.label, member: member, value: value, slot: slot))
                }
            }
            walk.genuine = walk.all
            if case .whole = try compare(walk, source) { return candidates }
            page.isComplete = false
            page.damaged.append(Self.missing(source.label))
            return candidates
        }

        /// Adds what an entry leads to, if that says so of itself.
        private func add(
            _ candidate: Candidate, _ range: OrderedRange, _ keyset: Keyset, to page: inout OrderedPage
        ) throws(Interruption) {
            func stray(_ how: String) {
                page.damaged.append(Self.stray(candidate.label, candidate.member, how))
                page.isComplete = false
            }
            do throws(SQLiteFault) {
                switch try finder.find(candidate.slot, candidate.key, keyset, inTransaction: true) {
                case .absent, .needsTransaction: return stray("names a slot without a row")
                case .found(let row):
                    switch row.probe {
                    case .value(let record):
                        guard let address = row.address, address.namespace == range.namespace,
                            row.ordered.contains(where: { $0.index == range.index && $0.bytes.elementsEqual(candidate.value) })
                        else { return stray("names a row that says otherwise") }
                        page.entries.append(
                            OrderedPage.OrderedEntry(value: Array(candidate.value), entry: StoragePage.Entry(address, .record(record))))
                        return
                    case .tombstone, .absent, .locked: return stray("names a row without a value")
                    case .corrupt, .unavailable: break
                    }
                }
                guard let damage = try finder.damage(of: candidate.slot, keyset) else { return stray("names a slot without a row") }
                page.damaged.append(damage)
                page.isComplete = false
            } catch {
                throw .failed(error.readError())
            }
        }
    }
#endif
