import BackendContract

/// Reads and changes the records of an entity as documents, without their Swift type, a page at a time. Each write is a commit
/// of the ``Committer``.
package struct DocumentRecords: EnginePart, Sendable {
    let engine: Engine
    /// Called after records were read and before they are changed. It throws if another process has continued the migration
    /// plan since. The records may then contain changes of that process.
    var requireTurn: @Sendable () async throws -> Void = {}

    // MARK: Reading

    /// Returns whether an entity has any record, including damaged ones.
    package func hasRecords(_ place: DocumentPlace) async throws -> Bool {
        guard place.isCollection else { return try await !route(place, place.entity).probe().isEmpty }
        for try await _ in pages(place, [], size: 1) { return true }
        return false
    }

    /// Returns the earliest version below a limit in which an entity has unexpired records; nil if there are none.
    package func earliestVersion(of place: DocumentPlace, below end: Int) async throws -> Int? {
        for version in 1..<max(1, end) {
            var isFound = false
            try await forEachPage(place, version: version) { page in
                isFound = isFound || page.contains { $0.record.map { !coder.isExpired($0) } ?? true }
            }
            if isFound { return version }
        }
        return nil
    }

    /// Calls a closure with each page of an entity's records. If a version is given, only with the records of that version.
    func forEachPage(_ place: DocumentPlace, version: Int? = nil, _ body: ([StoragePage.Entry]) async throws -> Void) async throws {
        if place.isCollection {
            for filter in version.map(RecordFilter.versions) ?? [.all] {
                for try await page in pages(place, filter.conditions, size: slots.pageSize) {
                    try Task.checkCancellation()
                    try await body(try page.requireWhole())
                }
            }
            return
        }
        let route = try route(place, place.entity)
        switch try await route.probe() {
        case .value(let record):
            if let version, version != record.metadata.schemaVersion ?? 1 { return }
            try await body([StoragePage.Entry(route.address, .record(record))])
        case .corrupt(let corruption): throw route.corrupted(corruption)
        default: return
        }
    }

    private func pages(_ place: DocumentPlace, _ conditions: [StorageQuery.Condition], size: Int) -> RecordPages {
        RecordPages(
            routes: slots.routes, domain: place.domain, collection: place.entity, query: StorageQuery(place.namespace, conditions),
            size: size, sealed: RecordPages.sealed { try route(place, $0.name) })
    }

    func route(_ place: DocumentPlace, _ id: String) throws -> Route {
        try slots.routes.slot(for: place.key(id, StorageMetadata(schemaVersion: 1))).route
    }

    // MARK: Changing

    /// Runs the steps of a chain on the records of earlier versions, and writes nothing.
    /// - Throws: ``StorageError`` with `migrationFailed`, which names the first record that the chain cannot convert.
    package func check(_ place: DocumentPlace, _ chain: EvolutionChain) async throws {
        let chain = place.checking(chain, coder)
        for version in chain.older {
            try await forEachPage(place, version: version) { page in for entry in page { _ = try await conversion(of: entry, place, chain) }
            }
        }
    }

    /// Returns the conversion of a record to the last version of a chain; nil if it has that version already, or has expired.
    func conversion(of entry: StoragePage.Entry, _ place: DocumentPlace, _ chain: EvolutionChain) async throws -> Converter.Conversion? {
        guard let record = entry.record else { throw try route(place, entry.address.name).damaged(entry) }
        return try await pageConverter.conversion(of: entry, to: place.key(entry.address.name, record.metadata, chain))
    }

    /// Converts the records of an entity to the last version of a chain. Each page is one commit, if the store has atomic batches.
    /// - Returns: The number of converted records.
    package func update(_ place: DocumentPlace, _ chain: EvolutionChain) async throws -> Int {
        let chain = place.checking(chain, coder)
        var count = 0
        for version in chain.older {
            try await forEachPage(place, version: version) { page in
                count += try await slots.unbroken { try await update(page, place, chain) }
            }
        }
        return count
    }

    private func update(_ page: [StoragePage.Entry], _ place: DocumentPlace, _ chain: EvolutionChain) async throws -> Int {
        var conversions: [Converter.Conversion] = []
        for entry in page { if let conversion = try await conversion(of: entry, place, chain) { conversions.append(conversion) } }
        try await requireTurn()
        if try await pageConverter.convertTogether(conversions, place.entity) { return conversions.count }
        var count = 0
        for conversion in conversions { count += try await update(conversion.prepared.route, place, chain) ? 1 : 0 }
        return count
    }

    /// Converts one record. Returns false if it has the last version already, has expired, or is gone.
    private func update(_ route: Route, _ place: DocumentPlace, _ chain: EvolutionChain) async throws -> Bool {
        try await slots.withLane(route) {
            for await _ in slots.attempts {
                guard case .value(let record) = try await route.probe(), !coder.isExpired(record) else { return false }
                let slot = try slots.routes.slot(for: place.key(route.address.name, record.metadata, chain))
                guard let conversion = try await converter.conversion(of: record, slot) else { return false }
                try await requireTurn()
                if try await converter.convert(conversion, slot) { return true }
            }
            throw route.error(for: .notAttempted)
        }
    }
}
