import Foundation

/// How much of the order in which rows were inserted can be read from a database without any key.
struct Order {
    /// From the order of the layout's key.
    let byKey: Double
    /// From where the rows stand in the file: by page, and within a page from its end, where SQLite begins to fill it.
    let byPlace: Double

    init(of table: Table, count: Int) throws {
        var keys: [Int] = []
        try table.forEach { _, _, sealed in keys.append(Int(sealed.loadUnaligned(fromByteOffset: Rows.prefix.count, as: UInt64.self))) }
        byKey = try Self.neighboursInOrder(keys, count: count)

        let places = try table.contents().withUnsafeBytes(Self.places)
        // A page that was split keeps the bytes that went elsewhere until they are written over: a row may be found more than once.
        byPlace = try Self.neighboursInOrder(places, count: nil)
    }

    /// The rows in the order of their pages and, within a page, from its end.
    private static func places(in contents: UnsafeRawBufferPointer) -> [Int] {
        var places: [(page: Int, fromEnd: Int, row: Int)] = []
        let prefix = Rows.prefix.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        for offset in 0..<max(0, contents.count - Rows.prefix.count - 7)
        where contents.loadUnaligned(fromByteOffset: offset, as: UInt64.self) == prefix
            && contents[offset + 8] == Rows.prefix.last
        {
            let row = contents.loadUnaligned(fromByteOffset: offset + Rows.prefix.count, as: UInt64.self)
            places.append((offset / 4_096, -(offset % 4_096), Int(row)))
        }
        places.sort { ($0.page, $0.fromEnd) < ($1.page, $1.fromEnd) }
        return places.map(\.row)
    }

    /// The share of neighbours of which the first was inserted first: 1 shows the whole order, 0.5 is what chance gives.
    private static func neighboursInOrder(_ rows: [Int], count: Int?) throws -> Double {
        guard count.map({ $0 == rows.count }) ?? (rows.count > 1) else { throw Failure(description: "\(rows.count) rows were found") }
        return Double(zip(rows, rows.dropFirst()).count { $0 < $1 }) / Double(rows.count - 1)
    }
}
