import BackendContract

/// Brings records that were stored under another type's tag to a collection's own type, in their place.
struct Retagger<Record: Codable & Sendable>: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let program: ProgramCode
    let collection: StorageCollection<Record>
    let typeTag: String

    private var pageConverter: PageConverter { PageConverter(slots, coder, history, program) }

    private var pages: RecordPages { RecordQueries(slots, coder).pages(collection, .all, typeTag: typeTag) }

    /// Tries every record, then writes them page by page.
    /// Reason: "`migrateAll` tries all records before it writes one" in Docs/Decisions/Evolution.md.
    /// - Returns: How many records were written, and their size.
    /// - Throws: ``StorageError`` naming the first record that is not one of the new type.
    func run() async throws -> (records: Int, bytes: Int) {
        for try await page in pages {
            for entry in try page.requireWhole() {
                do { _ = try await pageConverter.conversion(of: entry, to: key(entry)) } catch let error as StorageError {
                    throw error.refusingAll(entry.address.name, collection.name)
                }
            }
        }
        var (records, bytes) = (0, 0)
        for try await page in pages {
            try Task.checkCancellation()
            do {
                let done = try await slots.unbroken { [self] in try await retag(page.requireWhole()) }
                records += done.count
                bytes += done.bytes
            } catch let error as StorageError { throw records == 0 ? error : error.afterOthers }
        }
        if records > 0 { history.ledger.worked("\(collection.name):\(typeTag)") }
        return (records, bytes)
    }

    private func key(_ entry: StoragePage.Entry) -> StorageKey<Record> {
        var key = collection.key(entry.address.name)
        key.membership?.acceptsOtherTags = true
        return key
    }

    private func retag(_ page: [StoragePage.Entry]) async throws -> (count: Int, bytes: Int) {
        var conversions: [Converter.Conversion] = []
        for entry in page {
            if let record = entry.record, coder.isExpired(record) {
                // A sweep of the newer type does not find it under the older one: an expired record gets the tag, too, until it may be purged.
                // Reason: "The delay applies to sweeps and plans, not to removals" in Docs/Decisions/Expiry.md.
                let slot = try slots.routes.slot(for: key(entry)).untyped
                guard case .kept = try await slots.withLane(slot.route, { try await Purger(slots, coder, history).purge(record, slot) })
                else { continue }
                do { _ = try await pageConverter.convert(key(entry), includesExpired: true) } catch let error as StorageError {
                    // Nobody reads it.
                    guard error.meansUndecodable else { throw error }
                }
                continue
            }
            do {
                if let conversion = try await pageConverter.conversion(of: entry, to: key(entry)) {
                    conversions.append(conversion)
                }
            } catch let error as StorageError { throw error.refusingAll(entry.address.name, collection.name, outcome: .unknown) }
        }
        if try await pageConverter.convertTogether(conversions, collection.name) {
            return (conversions.count, conversions.reduce(0) { $0 + $1.prepared.bytes.count })
        }
        let sizes = try await asyncMap(page) { try await pageConverter.convert(key($0)) }.compactMap(\.self)
        return (sizes.count, sizes.reduce(0, +))
    }

    private func asyncMap<Element, Result>(_ elements: [Element], _ body: (Element) async throws -> Result) async throws -> [Result] {
        var results: [Result] = []
        for element in elements { results.append(try await body(element)) }
        return results
    }
}

extension StorageError {
    /// The same error of a call that has migrated other records already.
    fileprivate var afterOthers: StorageError {
        outcome == .notApplied ? StorageError(code, key: keyName, message, outcome: .unknown, underlying: underlying) : self
    }

    /// The error of one record that keeps all of them where they are.
    func refusingAll(_ id: String, _ collection: String, outcome: MutationOutcome = .notApplied) -> StorageError {
        StorageError(
            code, key: id,
            "The record \(id) of \(collection) cannot be migrated\(outcome == .notApplied ? ", and none was" : "; run it again when it is repaired"). \(message)",
            outcome: outcome, underlying: underlying)
    }
}
