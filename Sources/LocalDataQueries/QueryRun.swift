import BackendContract
import LocalData

/// Runs one query. It chooses between the entries of a label and a scan of the collection.
struct QueryRun<Record: Codable & Sendable>: Sendable {
    let reader: MatchReader<Record>
    let query: RecordQuery<Record>
    let onDamage: DamagePolicy
    /// The conditions `==` of the predicate that labels can answer.
    private let matches: [AttributeMatch]

    init(_ reader: MatchReader<Record>, _ query: RecordQuery<Record>, _ onDamage: DamagePolicy) {
        (self.reader, self.query, self.onDamage) = (reader, query, onDamage)
        matches = Self.matches(of: query)
    }

    /// Returns the texts that derived attributes of the records must have.
    private static func matches(of query: RecordQuery<Record>) -> [AttributeMatch] {
        let declared = query.collection.derivedAttributes?.all ?? []
        return query.predicate.equalities.flatMap { equality in
            declared.compactMap { attribute in
                guard attribute.path as AnyKeyPath == equality.path as AnyKeyPath else { return nil }
                return attribute.textOfValue(equality.value).map { AttributeMatch(attribute.name, $0) }
            }
        }
    }

    /// Returns the counts of the store; nil if the query must scan.
    private func counts() async throws -> AttributeCounts? { matches.isEmpty ? nil : try await reader.counts(of: matches) }

    /// Returns the number of the condition with the fewest records; nil if the query must scan.
    private func label() async throws -> Int? {
        guard let counts = try await counts() else { return nil }
        return counts.matching.indices.min { counts.matching[$0] < counts.matching[$1] }
    }

    private func condition(_ label: Int?) -> MatchReader<Record>.Condition {
        MatchReader.Condition(matches: matches, label: label.map { matches[$0] }) { [predicate = query.predicate] in predicate.matches($0) }
    }

    // MARK: Results

    /// Returns the records of a page, and the position after it.
    func page(after start: QueryPosition?, limit: Int) async throws -> (records: [Record], end: QueryPosition?) {
        guard query.order == nil else { return try await orderedPage(after: start, limit: limit) }
        var (chosen, cursor): (Int?, StorageCursor?) = (nil, nil)
        if case .store(let label, let end)? = start {
            if let label, label >= matches.count { throw QueryPosition.stranger(query.collection.name) }
            (chosen, cursor) = (label, end)
        } else {
            chosen = try await label()
        }
        let condition = condition(chosen)
        var records: [Record] = []
        var size = min(limit, reader.pageSize)
        while records.count < limit {
            let wanted = limit - records.count
            let page = try await reader.page(condition, after: cursor, limit: wanted, size: size, onDamage: onDamage)
            records += page.records.map(\.value)
            guard let next = page.next else { return (records, nil) }
            cursor = next
            // A page of the store should have about as many records as are still needed.
            size = min(reader.pageSize, page.records.count * 2 < page.examined ? max(size * 2, wanted) : limit - records.count)
        }
        return (records, cursor.map { .store(label: chosen, $0) })
    }

    /// Calls a function with pages of the records that meet the condition.
    func forEachPage(_ body: ([FoundRecord<Record>]) async throws -> Void) async throws {
        let condition = condition(try await label())
        var cursor: StorageCursor?
        repeat {
            let page = try await reader.page(condition, after: cursor, limit: .max, size: reader.pageSize, onDamage: onDamage)
            if !page.records.isEmpty { try await body(page.records) }
            cursor = page.next
        } while cursor != nil
    }

    private func orderedPage(after start: QueryPosition?, limit: Int) async throws -> (records: [Record], end: QueryPosition?) {
        guard let order = query.order else { return ([], nil) }
        var isAfterStart: @Sendable (FoundRecord<Record>) -> Bool = { _ in true }
        if case .order(let place)? = start {
            let comparisons = try zip(order.criteria, place.values).map { (criterion, bytes) in
                // The errors of coders quote the content.
                do { return try criterion.comparison(bytes) } catch { throw QueryPosition.stranger(query.collection.name) }
            }
            isAfterStart = { record in
                for comparison in comparisons {
                    let side = comparison(record.value)
                    if side != .same { return side == .after }
                }
                return RecordQuery<Record>.precedes(place.id, record.id)
            }
        }
        // One record more than the page has shows whether there is a next page.
        var first = SmallestRecords<Record>(limit == .max ? limit : limit + 1) { left, right in
            switch order.compare(left.value, right.value) {
            case .before: true
            case .after: false
            case .same: RecordQuery<Record>.precedes(left.id, right.id)
            }
        }
        try await forEachPage { page in for record in page where isAfterStart(record) { first.add(record) } }
        let found = first.sorted
        let page = found.prefix(limit)
        guard found.count > page.count, let last = page.last else { return (page.map(\.value), nil) }
        let values = try order.criteria.map { criterion in
            do { return try criterion.encode(last.value) } catch { throw uncoded(error, last.id) }
        }
        return (page.map(\.value), .order(QueryPosition.Place(order: order.identity, values: values, id: last.id)))
    }

    /// The error for a record whose place in the order cannot be encoded.
    private func uncoded(_ error: any Error, _ id: String) -> StorageError {
        let failure = CodingFailure(error)
        return StorageError(
            StorageError.encodingFailed, key: id,
            "The values by which the record is ordered cannot be encoded: \(failure). Order the pages by other properties. Nothing was changed.",
            underlying: failure)
    }

    /// Returns the number of records that meet the condition.
    func count() async throws -> Int {
        if query.predicate.isEquality, let counts = try await counts(), counts.expiring == 0 {
            try await reader.reportUnreadable(onDamage)
            return counts.matching[0]
        }
        var count = 0
        try await forEachPage { count += $0.count }
        return count
    }
}
