import Foundation

/// An order of records, by one property or by several.
///
/// Use it for a sorted list, and to decide which records a limit leaves out.
///
/// ```swift
/// let order = RecordOrder<Note>.descending(\.date).then(.ascending(\.title))
/// let newest = try await storage.first(in: notes, where: \.tag == "work", orderedBy: order)
/// ```
///
/// If all properties of two records are equal, the record with the smaller id comes first, by its UTF-8 bytes. Nil comes
/// before every value, and a value that does not equal itself, such as NaN, comes after every other value.
public struct RecordOrder<Record>: Sendable {
    /// The position of one value in relation to another one.
    enum Comparison: Sendable {
        case before, same, after

        var reversed: Self {
            switch self {
            case .before: .after
            case .same: .same
            case .after: .before
            }
        }
    }

    /// The order by one property.
    struct Criterion: Sendable {
        /// A hash of the property and the direction. It is valid in this process.
        let identity: Int
        let compare: @Sendable (Record, Record) -> Comparison
        /// Returns the value of the property as bytes.
        let encode: @Sendable (Record) throws -> Data
        /// Returns a function that compares the property of a record with encoded bytes.
        let comparison: @Sendable (Data) throws -> @Sendable (Record) -> Comparison
    }

    let criteria: [Criterion]

    /// Numbers that are equal for the same properties and directions. They are valid in this process, like the cursors of ordered pages.
    var identity: [Int] { criteria.map(\.identity) }

    /// Returns an order that begins with the smallest value of a property.
    ///
    /// ```swift
    /// let oldest = try await storage.records(in: notes, where: .all, orderedBy: .ascending(\.date), limit: 10)
    /// ```
    public static func ascending<Value: Comparable & Codable & Sendable>(_ path: any KeyPath<Record, Value> & Sendable) -> Self {
        Self(criteria: [criterion(path, isDescending: false, Self.compare)])
    }

    /// Returns an order that begins with the greatest value of a property.
    ///
    /// ```swift
    /// let newest = try await storage.records(in: notes, where: .all, orderedBy: .descending(\.date), limit: 10)
    /// ```
    public static func descending<Value: Comparable & Codable & Sendable>(_ path: any KeyPath<Record, Value> & Sendable) -> Self {
        Self(criteria: [criterion(path, isDescending: true, Self.compare)])
    }

    /// Returns an order that begins with the records without a value, and then with the smallest value.
    ///
    /// ```swift
    /// let byDueDate = try await storage.records(in: notes, where: .all, orderedBy: .ascending(\.due))  // first those without one
    /// ```
    public static func ascending<Value: Comparable & Codable & Sendable>(_ path: any KeyPath<Record, Value?> & Sendable) -> Self {
        Self(criteria: [criterion(path, isDescending: false, Self.compareOptionals)])
    }

    /// Returns an order that begins with the greatest value of a property, and ends with the records without a value.
    ///
    /// ```swift
    /// let byDueDate = try await storage.records(in: notes, where: .all, orderedBy: .descending(\.due))  // last those without one
    /// ```
    public static func descending<Value: Comparable & Codable & Sendable>(_ path: any KeyPath<Record, Value?> & Sendable) -> Self {
        Self(criteria: [criterion(path, isDescending: true, Self.compareOptionals)])
    }

    /// Returns this order with a further order for the records that are equal in it.
    ///
    /// ```swift
    /// let order = RecordOrder<Note>.ascending(\.tag).then(.descending(\.date))
    /// for note in try await storage.records(in: notes, where: .all, orderedBy: order) { print(note.tag, note.title) }
    /// ```
    public func then(_ next: Self) -> Self { Self(criteria: criteria + next.criteria) }

    /// Compares two records by all properties of the order.
    func compare(_ left: Record, _ right: Record) -> Comparison {
        for criterion in criteria {
            let comparison = criterion.compare(left, right)
            if comparison != .same { return comparison }
        }
        return .same
    }

    private static func criterion<Value: Codable & Sendable>(
        _ path: any KeyPath<Record, Value> & Sendable, isDescending: Bool,
        _ compare: @escaping @Sendable (Value, Value) -> Comparison
    ) -> Criterion {
        @Sendable func directed(_ left: Value, _ right: Value) -> Comparison {
            isDescending ? compare(left, right).reversed : compare(left, right)
        }
        var hasher = Hasher()
        hasher.combine(path as AnyKeyPath)
        hasher.combine(isDescending)
        return Criterion(
            identity: hasher.finalize(),
            compare: { directed($0[keyPath: path], $1[keyPath: path]) },
            encode: { try encoder.encode([$0[keyPath: path]]) },
            comparison: { bytes in
                let values = try decoder.decode([Value].self, from: bytes)
                return { record in values.first.map { directed(record[keyPath: path], $0) } ?? .same }
            })
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "+", negativeInfinity: "-", nan: "?")
        return encoder
    }

    private static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(positiveInfinity: "+", negativeInfinity: "-", nan: "?")
        return decoder
    }

    @Sendable private static func compare<Value: Comparable>(_ left: Value, _ right: Value) -> Comparison {
        if left < right { return .before }
        if right < left { return .after }
        let (isOdd, isOtherOdd) = (left != left, right != right)
        if isOdd == isOtherOdd { return .same }
        return isOdd ? .after : .before
    }

    @Sendable private static func compareOptionals<Value: Comparable>(_ left: Value?, _ right: Value?) -> Comparison {
        switch (left, right) {
        case (nil, nil): .same
        case (nil, _): .before
        case (_, nil): .after
        case (let left?, let right?): compare(left, right)
        }
    }
}
