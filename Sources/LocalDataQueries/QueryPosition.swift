import BackendContract
import Foundation
import LocalData

/// The decoded content of a cursor.
enum QueryPosition {
    /// The end of a page of the store, in a scan or in the entries of a label. The label is that of a condition `==` of the
    /// predicate, by its number.
    case store(label: Int?, StorageCursor)
    /// The last record of a page in an order.
    case order(Place)

    /// The values of a record by which it is ordered.
    struct Place: Codable {
        /// The identity of the order: see ``RecordOrder/identity``.
        let order: [Int]
        let values: [Data]
        let id: String
    }

    private static let (ofScan, ofLabel, ofOrder): (UInt8, UInt8, UInt8) = (1, 2, 3)

    /// Returns the cursor for this position.
    func cursor<Record>(_ router: StorageRouter, _ collection: StorageCollection<Record>) throws -> QueryCursor {
        switch self {
        case .store(nil, let end): return QueryCursor(bytes: [Self.ofScan] + end.bytes)
        case .store(let number?, let end): return QueryCursor(bytes: [Self.ofLabel, UInt8(clamping: number)] + end.bytes)
        case .order(let place):
            let content = Array(try JSONEncoder().encode(place))
            return QueryCursor(bytes: [Self.ofOrder] + (try router.sealedCursor(content, of: collection)))
        }
    }

    /// Decodes a cursor.
    /// - Throws: `StorageError` with `unsupported` for a cursor of another router, collection or kind of query.
    init<Record>(_ cursor: QueryCursor, _ query: RecordQuery<Record>, _ router: StorageRouter) throws {
        let rest = cursor.bytes.dropFirst()
        switch cursor.bytes.first {
        case Self.ofScan where query.order == nil: self = .store(label: nil, StorageCursor(Array(rest)))
        case Self.ofLabel where query.order == nil && !rest.isEmpty:
            self = .store(label: rest.first.map(Int.init), StorageCursor(Array(rest.dropFirst())))
        case Self.ofOrder where query.order != nil:
            guard let content = router.openedCursor(Array(rest), of: query.collection),
                let place = try? JSONDecoder().decode(Place.self, from: Data(content)), place.order == query.order?.identity,
                place.values.count == place.order.count
            else { throw Self.stranger(query.collection.name) }
            self = .order(place)
        default: throw Self.stranger(query.collection.name)
        }
    }

    static func stranger(_ name: String) -> StorageError {
        StorageError(
            StorageError.unsupported, key: name,
            "The cursor belongs to another query, or to a router that is gone. Begin with the first page. Nothing was changed.")
    }
}
