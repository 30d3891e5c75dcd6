import ArgumentParser
import BackendContract
import Foundation
import LocalData

/// `localdata records`: lists the ids of a collection's records with their metadata, without their content.
struct Records<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "records", abstract: "Lists the records of a collection: id, type, version and dates, without content.",
            discussion: """
                A line has the id, the type with its version, the date of the last change, and the date of expiry. The metadata of values \
                that LocalData seals one by one is shown as stored, without a check.

                Example: \(Options.program) records sqlite:documents notes
                """)
    }

    @Argument(help: DomainArgument.help) var domain: DomainArgument
    @Argument(help: "The collection's name.") var collection: String
    @OptionGroup var place: Options

    /// The JSON output for a record.
    private struct ShownRecord: Encodable {
        let id: String
        let type: String?
        let version: Int?
        /// Seconds since 1970.
        let created, modified, expires: Double?
        let attributes: [String: String]
        let isSealed: Bool

        init(_ id: String, _ metadata: StorageMetadata) {
            self.id = id
            (type, version) = (metadata.typeTag, metadata.schemaVersion)
            (created, modified, expires) = (metadata.createdAt, metadata.modifiedAt, metadata.expiresAt)
            attributes = metadata.attributes.filter { !$0.key.hasPrefix("LocalData.") }
            isSealed = metadata.sealing != nil
        }

        /// The record as one line of text.
        var line: String {
            let kind = [type, version.map { "v\($0)" }].compactMap(\.self).joined(separator: " ")
            let dates = [modified.map { Self.text($0) }, expires.map { "expires \(Self.text($0))" }].compactMap(\.self)
            return ([id, kind.isEmpty ? "-" : kind] + dates).joined(separator: "  ")
        }

        private static func text(_ seconds: Double) -> String { Date(timeIntervalSince1970: seconds).ISO8601Format() }
    }

    /// The JSON output of the command.
    private struct ShownRecords: Encodable {
        let collection: String
        let damaged: Int
        let records: [ShownRecord]
    }

    func run() async throws {
        let domain = domain.domain
        let (records, damaged) = try await place.withRouter(for: [domain]) { try await list($0, domain) }
        if place.json { return try Output.json(ShownRecords(collection: collection, damaged: damaged, records: records)) }
        for record in records { Output.line(record.line) }
        if damaged > 0 {
            Failure.write("\(damaged) damaged. To list them: \(Options.program) damaged list \(domain.text) --collection \(collection)")
        }
    }

    private func list(_ router: StorageRouter, _ domain: StorageDomain) async throws -> ([ShownRecord], damaged: Int) {
        let store: any StorageBackend = try router.store(of: domain, otherwise: "The store has no records.")
        let query = StorageQuery(.records(of: collection))
        var records: [ShownRecord] = []
        var damaged = 0
        var cursor: StorageCursor?
        repeat {
            let page = try await translating(collection, await store.page(query, after: cursor, limit: 256))
            for entry in page.entries {
                if let record = entry.record { records.append(ShownRecord(entry.address.name, record.metadata)) } else { damaged += 1 }
            }
            damaged += page.damaged.count
            cursor = page.next
        } while cursor != nil
        if records.isEmpty, damaged == 0 { try await requireCollection(router, store, domain) }
        return (records.sorted { $0.id < $1.id }, damaged)
    }

    /// Throws for a collection that never had a record. A collection whose records were removed still has tombstones.
    private func requireCollection(_ router: StorageRouter, _ store: any StorageBackend, _ domain: StorageDomain) async throws {
        let removed = try await translating(collection, await store.addresses(in: .records(of: collection)))
        if !removed.isEmpty { return }
        let known = try await CollectionNames(router: router, catalogs: place.catalogs ?? []).find(in: domain)
        if known.names.contains(collection) { return }
        let message = "There is no collection \(collection) in \(domain.text)."
        if known.areAll || !known.names.isEmpty { throw Refusal.unknown("unknownCollection", collection, message, known: known.names) }
        throw Refusal(
            status: .unknownName, code: "unknownCollection", name: collection,
            message: "\(message) The names of collections in this store are encrypted, so the tool cannot list them.")
    }
}
