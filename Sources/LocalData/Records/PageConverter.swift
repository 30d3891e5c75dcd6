import BackendContract

/// Converts the records of a page to the form that their keys declare.
struct PageConverter: EnginePart, Sendable {
    let engine: Engine

    /// Returns the conversion of a record to the form that its key declares; nil if it has that form already, or has expired.
    func conversion<Record>(of entry: StoragePage.Entry, to key: StorageKey<Record>) async throws -> Converter.Conversion? {
        let slot = try slots.routes.slot(for: key)
        guard let record = entry.record else { throw slot.route.damaged(entry) }
        return coder.isExpired(record) ? nil : try await converter.conversion(of: record, slot)
    }

    /// Writes converted records in one commit. Returns false, and changes nothing, if the store has no atomic batches or another
    /// process has changed one of the records since it was read.
    func convertTogether(_ conversions: [Converter.Conversion], _ name: String) async throws -> Bool {
        guard let first = conversions.first else { return true }
        guard first.prepared.route.capabilities.atomicBatch else { return false }
        return try await slots.lanes.withLanes(conversions.map(\.prepared.route.slot), keyName: name) {
            try await converter.convertTogether(conversions)
        }
    }

    /// Reads one record again, and converts it to the form that its key declares.
    /// - Returns: The size of the converted record; nil if it has that form already, has expired, or is gone.
    func convert<Record>(_ key: StorageKey<Record>, includesExpired: Bool = false) async throws -> Int? {
        let slot = try slots.routes.slot(for: key)
        return try await slots.withLane(slot.route) {
            for await _ in slots.attempts {
                guard case .value(let record) = try await slot.route.probe(), includesExpired || !coder.isExpired(record),
                    let conversion = try await converter.conversion(of: record, slot)
                else { return nil }
                if try await converter.convert(conversion, slot) { return conversion.prepared.bytes.count }
            }
            throw slot.route.error(for: .notAttempted)
        }
    }
}
