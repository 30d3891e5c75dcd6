import Foundation

/// An attribute of records whose text is derived from each record when the record is written.
package struct DerivedAttribute: Sendable {
    /// The name of the attribute.
    package let name: String
    /// The property that the text comes from.
    package let path: any AnyKeyPath & Sendable
    /// The name of the property's type.
    let type: String
    /// Returns the text of a record; nil if the record gets no such attribute.
    let textOfRecord: @Sendable (Any) -> String?
    /// Returns the text that records with a value of the property have; nil if they get no such attribute.
    package let textOfValue: @Sendable (Any) -> String?

    /// Creates an attribute.
    /// - Parameters:
    ///   - name: The name of the attribute.
    ///   - path: The property that the text comes from.
    ///   - text: Returns the text of a value of the property. Equal values must have equal texts, and different values
    ///     different texts.
    package init<Record, Value>(
        _ name: String, _ path: any KeyPath<Record, Value> & Sendable, _ text: @escaping @Sendable (Value) -> String?
    ) {
        self.name = name
        self.path = path
        type = "\(Value.self)"
        textOfRecord = { record in (record as? Record).flatMap { text($0[keyPath: path]) } }
        textOfValue = { value in (value as? Value).flatMap(text) }
    }
}

/// The attributes that a collection derives from its records.
package struct DerivedAttributes: Sendable {
    /// The attributes, sorted by name.
    package let all: [DerivedAttribute]
    /// The text that is stored with each record whose attributes were derived by these declarations. It contains the
    /// type tag of the records, and the name and the type of each attribute.
    let mark: String

    /// The first part of each mark. It changes if the canonical texts of values change.
    private static let form = "1"

    /// Creates the declarations of a collection. Of several attributes with one name, the last one counts.
    /// - Parameter typeTag: The stored name of the type of the records.
    init(_ attributes: [DerivedAttribute], typeTag: String) {
        all = Dictionary(attributes.map { ($0.name, $0) }, uniquingKeysWith: { $1 }).values.sorted { $0.name < $1.name }
        let parts = [Self.form, typeTag] + all.flatMap { [$0.name, $0.type] }
        mark = (try? JSONEncoder().encode(parts)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Returns the parts of a mark without the type's name: its form, and the name and type of each attribute.
    private static func parts(of mark: String) -> [String] {
        let parts = (try? JSONDecoder().decode([String].self, from: Data(mark.utf8))) ?? []
        return Array(parts.prefix(1) + parts.dropFirst(2))
    }

    /// Returns the names of the attributes that a mark lists.
    static func names(in mark: String) -> [String] { parts(of: mark).enumerated().filter { $0.offset % 2 == 1 }.map(\.element) }

    /// Returns whether a mark lists these attributes. The type of its record may have another name.
    func areListed(in mark: String) -> Bool { mark == self.mark || Self.parts(of: mark) == Self.parts(of: self.mark) }

    /// Returns the texts of a record.
    func texts(of record: Any) -> DerivedTexts { DerivedTexts(mark: mark, texts: all.map { ($0.name, $0.textOfRecord(record)) }) }
}

/// The derived attributes of one record.
struct DerivedTexts: Sendable {
    let mark: String
    /// The name and the text of each attribute; nil for an attribute that the record does not get.
    let texts: [(name: String, text: String?)]
}
