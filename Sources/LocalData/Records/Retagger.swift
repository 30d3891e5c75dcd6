import BackendContract

/// Converts records that were stored with another type tag to the type of their collection. The records stay in their slots.
struct Retagger<Record: Codable & Sendable>: EnginePart, Sendable {
    let engine: Engine
    let collection: StorageCollection<Record>
    let typeTag: String

    private var pages: RecordPages { RecordQueries(engine: engine).pages(collection, .all, typeTag: typeTag) }

    /// Converts every record without writing, and then writes the records page by page.
    /// Reason: "`migrateAll` tries all records before it writes one" in Docs/Decisions/Evolution.md.
    /// - Returns: The number of records that were written, and their size in bytes.
    /// - Throws: ``StorageError``, which names the first record that cannot be converted to the new type.
    func run() async throws -> (records: Int, bytes: Int) {
        for try await page in pages {
            for entry in try page.requireWhole() {
                do { _ = try await pageConverter.conversion(of: entry, to: key(entry)) } catch let error as StorageError {
                    throw error.refusingAll(entry.address.name, collection.name)
                }
            }
        }
        var (records, bytes) = (0, 0)
        do {
            for try await page in pages {
                try Task.checkCancellation()
                let done = try await slots.unbroken { [self] in try await retag(page.requireWhole()) }
                records += done.count
                bytes += done.bytes
            }
        } catch let error as StorageError { throw error.after(records) }
        if records > 0 { history.ledger.worked("\(collection.name):\(typeTag)") }
        return (records, bytes)
    }

    private func key(_ entry: StoragePage.Entry) -> StorageKey<Record> {
        collection.key(entry.address.name).belonging { $0?.acceptsOtherTags = true }
    }

    private func retag(_ page: [StoragePage.Entry]) async throws -> (count: Int, bytes: Int) {
        var conversions: [Converter.Conversion] = []
        for entry in page {
            if let record = entry.record, coder.isExpired(record) {
                // A sweep of the newer type does not find records with the older tag. Therefore an expired record that may not be purged
                // yet gets the new tag too.
                // Reason: "The delay applies to sweeps and plans, not to removals" in Docs/Decisions/Expiry.md.
                let slot = try slots.routes.slot(for: key(entry)).untyped
                guard case .kept = try await slots.withLane(slot.route, { try await Purger(engine: engine).purge(record, slot) })
                else { continue }
                do { _ = try await pageConverter.convert(key(entry), includesExpired: true) } catch let error as StorageError {
                    // An expired record counts as absent, so it may be undecodable.
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
        var (count, bytes) = (0, 0)
        do {
            for entry in page {
                guard let size = try await pageConverter.convert(key(entry)) else { continue }
                count += 1
                bytes += size
            }
        } catch let error as StorageError { throw error.after(count) }
        return (count, bytes)
    }
}

extension StorageError {
    /// Returns the error of a call that ends because one record cannot be migrated.
    /// - Parameter outcome: `notApplied` if the call has migrated no record.
    func refusingAll(_ id: String, _ collection: String, outcome: MutationOutcome = .notApplied) -> StorageError {
        StorageError(
            code, key: id,
            "The record \(id) of \(collection) cannot be migrated\(outcome == .notApplied ? ", so no record was migrated" : ". Repeat the migration when it is repaired"). \(message)",
            outcome: outcome, underlying: underlying)
    }
}
