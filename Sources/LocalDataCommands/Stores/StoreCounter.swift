import BackendContract
import Foundation
import LocalData
import LocalDataBackup

/// A store of an application, with the numbers of its values and records.
struct StoreSummary: Encodable {
    /// The state of a store.
    enum State: String, Encodable {
        /// The store exists.
        case present
        /// The ledger records that the application wrote to the store, and its file does not exist.
        case lost
        /// A registered key uses the store, and nothing was stored in it yet.
        case declared
    }

    struct Collection: Encodable {
        let name: String
        let records: Int
    }

    let domain: String
    var state = State.present
    /// The number of values of single keys; nil if the store cannot be read.
    var values: Int?
    /// The number of values that cannot be read.
    var damaged: Int?
    var collections: [Collection]?
    /// The number of rows of a database that are not in ``values``: records, removals and earlier versions.
    var otherRows: Int?
    /// The reason why the store cannot be read.
    var message: String?
    /// The exit status for a store that cannot be read.
    var exit = ExitStatus.done

    private enum CodingKeys: CodingKey { case domain, state, values, damaged, collections, otherRows, message }

    /// The summary as lines of text.
    var lines: [String] {
        switch state {
        case .lost: return ["\(domain)  LOST: the ledger records it, and its file does not exist"]
        case .declared: return ["\(domain)  nothing is stored yet"]
        case .present: break
        }
        guard let values else { return ["\(domain)  cannot be read: \(message ?? "")"] }
        var first = "\(domain)  \(quantity(values, of: "value"))"
        if let damaged { first += ", \(damaged) damaged" }
        if let otherRows, otherRows > 0 { first += ", \(quantity(otherRows, of: "other row"))" }
        return [first] + (collections ?? []).map { "  \($0.name)  \(quantity($0.records, of: "record"))" }
    }
}

/// Counts the values and records of stores.
struct StoreCounter {
    let router: StorageRouter
    let collections: CollectionNames

    /// Returns the summary of a store. A failure becomes its message.
    func count(_ domain: StorageDomain) async -> StoreSummary {
        var summary = StoreSummary(domain: domain.text)
        do {
            let (names, damage) = try await router.namesAndDamage(in: domain)
            summary.values = names.count
            summary.damaged = damage.isEmpty ? nil : damage.count
            let found = try await collections.find(in: domain)
            var counted: [StoreSummary.Collection] = []
            for name in found.names {
                let records = try await router.namesAndDamage(in: domain, collection: name).names.count
                counted.append(StoreSummary.Collection(name: name, records: records))
            }
            if found.areAll || !counted.isEmpty { summary.collections = counted }
            if !found.areAll, let report = try? await router.verifyIntegrity(of: domain) {
                summary.otherRows = max(0, report.rows - names.count)
            }
        } catch {
            summary.exit = (error as? StorageError).map(ExitStatus.init(of:)) ?? .failure
            summary.message = (error as? StorageError).map { DomainWords.replacing(in: $0.message) } ?? error.localizedDescription
        }
        return summary
    }
}
