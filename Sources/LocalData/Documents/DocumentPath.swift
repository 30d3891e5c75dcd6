/// A path to a part of a document: property names and list positions, such as `phones[0].number`.
///
/// ```swift
/// let path: DocumentPath = "people[0].address.city"
/// print(path.components.count)  // 4
/// let dotted = DocumentPath([.name("example.com"), .name("city")])  // a name that contains a dot
/// ```
public struct DocumentPath: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// One step of a path.
    public enum Component: Hashable, Sendable {
        /// A property.
        case name(String)
        /// A position in a list, counted from 0.
        case position(Int)
    }

    /// The steps of the path, beginning at the root.
    public let components: [Component]

    /// The path of the whole document.
    public static let root = DocumentPath([])

    /// Creates a path from its steps. This allows property names that contain a dot or a bracket.
    ///
    /// ```swift
    /// let fileName = DocumentPath([.name("files"), .name("a.txt")])  // a dot in a name does not separate steps
    /// ```
    public init(_ components: [Component]) { self.components = components }

    /// Parses a path: names separated by dots, and positions in brackets. A bracket without a valid position is part of
    /// the name.
    ///
    /// ```swift
    /// let path = DocumentPath("phones[0].number")
    /// print(path.components)  // the name "phones", the position 0, the name "number"
    /// ```
    public init(_ text: String) {
        var components: [Component] = []
        for part in text.split(separator: ".", omittingEmptySubsequences: true) {
            var name = part
            var positions: [Component] = []
            while name.last == "]", let open = name.lastIndex(of: "["),
                let position = Int(name[name.index(after: open)...].dropLast()), position >= 0
            {
                positions.insert(.position(position), at: 0)
                name = name[..<open]
            }
            if !name.isEmpty { components.append(.name(String(name))) }
            components += positions
        }
        self.components = components
    }

    /// Parses a path from a string literal.
    public init(stringLiteral value: String) { self.init(value) }

    /// The path as text.
    public var description: String {
        components.reduce("") { text, component in
            switch component {
            case .name(let name): text.isEmpty ? name : "\(text).\(name)"
            case .position(let position): "\(text)[\(position)]"
            }
        }
    }
}
