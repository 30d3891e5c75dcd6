import LocalData

/// A condition on the content of records, such as "the tag is work".
///
/// Use it to read, count or remove the records that meet it.
///
/// Predicates are made with operators on key paths, and are combined with `&&`, `||` and `!`:
///
/// ```swift
/// let open = \Note.tag == "work" && !(\Note.isDone == true)
/// let long = RecordPredicate<Note>.matching { $0.text.count > 1_000 }
/// do { print(try await storage.count(in: notes, where: open || long)) } catch StorageError.corrupted {
///     print("A damaged note cannot be checked. Pass `onDamage: .skip` to leave it out.")
/// }
/// ```
///
/// A query with `==` on a declared attribute, alone or in a conjunction (`&&`), can use the labels of an encrypted database.
/// Every other condition is checked on each record that is read. Values are compared as Swift compares them: two
/// strings are equal if they are canonically equivalent.
public struct RecordPredicate<Record>: Sendable {
    /// A condition `==` on a property.
    struct Equality: Sendable {
        let path: any AnyKeyPath & Sendable
        let value: any Sendable
    }

    private let test: @Sendable (Record) -> Bool
    /// The conditions `==` that every record of the result meets.
    let equalities: [Equality]
    /// Whether the predicate is one condition `==` and nothing else.
    let isEquality: Bool

    private init(_ equalities: [Equality], isEquality: Bool = false, _ test: @escaping @Sendable (Record) -> Bool) {
        (self.equalities, self.isEquality, self.test) = (equalities, isEquality, test)
    }

    /// A predicate for all records.
    ///
    /// ```swift
    /// let newest = try await storage.records(in: notes, where: .all, orderedBy: .descending(\.date), limit: 10)
    /// ```
    public static var all: Self { .matching { _ in true } }

    /// Returns a predicate that a function decides. A query with it reads every record.
    ///
    /// ```swift
    /// let long = try await storage.records(in: notes, where: .matching { $0.text.count > 1_000 })  // reads every note
    /// ```
    /// - Parameter test: Returns whether a record matches. It may be called more than once for a record.
    public static func matching(_ test: @escaping @Sendable (Record) -> Bool) -> Self { Self([], test) }

    /// Returns whether a record meets the condition.
    ///
    /// ```swift
    /// let isOpenWork = \Note.tag == "work" && \Note.isDone == false
    /// print(isOpenWork.matches(note) ? "The note is in the list." : "The note is not in the list.")  // reads no store
    /// ```
    public func matches(_ record: Record) -> Bool { test(record) }

    static func equal<Value: Equatable & Sendable>(_ path: any KeyPath<Record, Value> & Sendable, _ value: Value) -> Self {
        Self([Equality(path: path, value: value)], isEquality: true) { $0[keyPath: path] == value }
    }

    /// Returns a predicate for the records that meet both conditions.
    ///
    /// ```swift
    /// let recent = try await storage.records(in: notes, where: \.tag == "work" && \.date >= day)  // reads the notes with the tag
    /// ```
    public static func && (left: Self, right: Self) -> Self {
        Self(left.equalities + right.equalities) { left.test($0) && right.test($0) }
    }

    /// Returns a predicate for the records that meet one of the conditions or both.
    ///
    /// ```swift
    /// let either = try await storage.records(in: notes, where: \.tag == "work" || \.tag == "home")  // reads every note
    /// ```
    public static func || (left: Self, right: Self) -> Self { .matching { left.test($0) || right.test($0) } }

    /// Returns a predicate for the records that do not meet a condition.
    ///
    /// ```swift
    /// let others = try await storage.records(in: notes, where: !(\Note.tag == "work"))  // reads every note
    /// ```
    public static prefix func ! (predicate: Self) -> Self { .matching { !predicate.test($0) } }
}

/// Returns a predicate for the records whose property equals a value.
///
/// ```swift
/// let work = try await storage.records(in: notes, where: \.tag == "work")  // the attribute is declared: reads these notes
/// let done = try await storage.records(in: notes, where: \.isDone == true)  // no attribute: reads every note
/// ```
public func == <Record, Value: Equatable & Sendable>(
    path: any KeyPath<Record, Value> & Sendable, value: Value
) -> RecordPredicate<Record> {
    .equal(path, value)
}

/// Returns a predicate for the records whose property differs from a value.
///
/// ```swift
/// let others = try await storage.records(in: notes, where: \.tag != "work")  // reads every note
/// ```
public func != <Record, Value: Equatable & Sendable>(
    path: any KeyPath<Record, Value> & Sendable, value: Value
) -> RecordPredicate<Record> {
    .matching { $0[keyPath: path] != value }
}

/// Returns a predicate for the records whose property is less than a value.
///
/// ```swift
/// let earlier = try await storage.records(in: notes, where: \.date < day)
/// ```
public func < <Record, Value: Comparable & Sendable>(
    path: any KeyPath<Record, Value> & Sendable, value: Value
) -> RecordPredicate<Record> {
    .matching { $0[keyPath: path] < value }
}

/// Returns a predicate for the records whose property is at most a value.
///
/// ```swift
/// let until = try await storage.records(in: notes, where: \.date <= day)
/// ```
public func <= <Record, Value: Comparable & Sendable>(
    path: any KeyPath<Record, Value> & Sendable, value: Value
) -> RecordPredicate<Record> {
    .matching { $0[keyPath: path] <= value }
}

/// Returns a predicate for the records whose property is greater than a value.
///
/// ```swift
/// let later = try await storage.records(in: notes, where: \.date > day)
/// ```
public func > <Record, Value: Comparable & Sendable>(
    path: any KeyPath<Record, Value> & Sendable, value: Value
) -> RecordPredicate<Record> {
    .matching { $0[keyPath: path] > value }
}

/// Returns a predicate for the records whose property is at least a value.
///
/// ```swift
/// let since = try await storage.records(in: notes, where: \.date >= day)
/// ```
public func >= <Record, Value: Comparable & Sendable>(
    path: any KeyPath<Record, Value> & Sendable, value: Value
) -> RecordPredicate<Record> {
    .matching { $0[keyPath: path] >= value }
}

/// Returns a predicate for the records whose property is not nil and less than a value.
///
/// ```swift
/// let late = try await storage.records(in: notes, where: \.due < today)  // no note without a due date
/// ```
public func < <Record, Value: Comparable & Sendable>(
    path: any KeyPath<Record, Value?> & Sendable, value: Value
) -> RecordPredicate<Record> {
    .matching { record in record[keyPath: path].map { $0 < value } ?? false }
}

/// Returns a predicate for the records whose property is not nil and at most a value.
///
/// ```swift
/// let now = try await storage.records(in: notes, where: \.due <= today)  // no note without a due date
/// ```
public func <= <Record, Value: Comparable & Sendable>(
    path: any KeyPath<Record, Value?> & Sendable, value: Value
) -> RecordPredicate<Record> {
    .matching { record in record[keyPath: path].map { $0 <= value } ?? false }
}

/// Returns a predicate for the records whose property is not nil and greater than a value.
///
/// ```swift
/// let later = try await storage.records(in: notes, where: \.due > today)  // no note without a due date
/// ```
public func > <Record, Value: Comparable & Sendable>(
    path: any KeyPath<Record, Value?> & Sendable, value: Value
) -> RecordPredicate<Record> {
    .matching { record in record[keyPath: path].map { $0 > value } ?? false }
}

/// Returns a predicate for the records whose property is not nil and at least a value.
///
/// ```swift
/// let pending = try await storage.records(in: notes, where: \.due >= today)  // no note without a due date
/// ```
public func >= <Record, Value: Comparable & Sendable>(
    path: any KeyPath<Record, Value?> & Sendable, value: Value
) -> RecordPredicate<Record> {
    .matching { record in record[keyPath: path].map { $0 >= value } ?? false }
}
