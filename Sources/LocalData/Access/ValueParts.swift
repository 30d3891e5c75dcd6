import Foundation

/// Looks at the parts of a value.
enum ValueParts {
    /// A type of the standard library whose mirror shows all of its elements.
    fileprivate protocol Container {}

    /// Types without a part that a program can change. Their mirrors show what is inside them, or nothing.
    private static let simple = Set(
        ([
            Bool.self, Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self, UInt32.self,
            UInt64.self,
            Float.self, Double.self, Decimal.self, String.self, Data.self, Date.self, URL.self, UUID.self,
        ] as [Any.Type]).map { ObjectIdentifier($0) })

    /// The size up to which a text or data is worth remembering, in bytes.
    private static let most = 16 << 10

    /// Returns whether a value can be remembered: it contains no object, such as an instance of a class, and no large text or data. A type
    /// with a custom mirror may hide an object.
    static func canBeRemembered(_ value: Any) -> Bool {
        if let text = value as? String { return text.utf8.count <= most }
        if let data = value as? Data { return data.count <= most }
        if simple.contains(ObjectIdentifier(type(of: value))) { return true }
        let mirror = Mirror(reflecting: value)
        switch mirror.displayStyle {
        case .struct, .enum, .tuple: if value is any CustomReflectable { return false }
        case .optional, .collection, .dictionary, .set: if !(value is any Container) { return false }
        default: return false
        }
        return mirror.children.allSatisfy { canBeRemembered($0.value) }
    }
}

extension Optional: ValueParts.Container {}
extension Array: ValueParts.Container {}
extension Dictionary: ValueParts.Container {}
extension Set: ValueParts.Container {}
