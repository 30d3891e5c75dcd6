import Foundation

/// Measures how much of the order of insertion a database reveals to a reader who cannot decrypt it. The measure is the
/// share of neighbouring rows that are in the order of insertion.
struct Order {
    /// The share if the rows are read in the order of the table's primary key.
    let byKey: Double
    /// The share if the rows are read in the order of their positions in the file: by page, and within a page from its
    /// end, which SQLite fills first.
    let byPlace: Double

    init(of table: Table, count: Int) throws {
        var keys: [Int] = []
        try table.forEach { _, _, sealed in keys.append(Int(sealed.loadUnaligned(fromByteOffset: Rows.prefix.count, as: UInt64.self))) }
        byKey = try Self.neighboursInOrder(keys, count: count)

        let places = try table.contents().withUnsafeBytes(Self.places)
        // When SQLite splits a page, it moves rows to another page. The old page keeps their bytes until they are
        // overwritten, so a row may be found more than once, and the number of rows is not checked.
        byPlace = try Self.neighboursInOrder(places, count: nil)
    }

    /// Returns the rows in the order of their pages and, within a page, from its end.
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

    /// Returns the share of neighbouring rows of which the first was inserted before the second. A share of 1 reveals
    /// the whole order, and 0.5 is chance.
    private static func neighboursInOrder(_ rows: [Int], count: Int?) throws -> Double {
        guard count.map({ $0 == rows.count }) ?? (rows.count > 1) else { throw Failure(description: "\(rows.count) rows were found") }
        return Double(zip(rows, rows.dropFirst()).count { $0 < $1 }) / Double(rows.count - 1)
    }
}
