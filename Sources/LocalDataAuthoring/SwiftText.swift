import Foundation

/// Texts of generated files. Names of keys and catalogs may contain any character, so each function escapes its input.
enum SwiftText {
    /// Returns a name that begins with an uppercase letter and contains only ASCII letters and digits: "old.name" gives
    /// "OldName". The caller puts a word before or behind it, so it is never a keyword.
    static func identifier(_ text: String) -> String {
        let parts = text.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
        let name = parts.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined().prefix(80)
        guard let first = name.first else { return "Value" }
        return first.isNumber ? "No\(name)" : String(name)
    }

    /// Returns the identifiers of several names. If two names give the same identifier, a number is appended to the later
    /// one in sorted order.
    static func identifiers(_ names: [String]) -> [String: String] {
        var found: [String: String] = [:]
        var used: Set<String> = []
        for name in Set(names).sorted() {
            let identifier = identifier(name)
            var unique = identifier
            var number = 1
            while !used.insert(unique).inserted {
                number += 1
                unique = "\(identifier)_\(number)"
            }
            found[name] = unique
        }
        return found
    }

    /// Returns a file name for a text. Bytes other than ASCII letters, digits, "-" and "_" are percent-encoded, so the
    /// result is one component of a path. A long text is shortened, and a hash of the whole text is appended.
    static func fileName(_ text: String) -> String {
        let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let name = text.utf8.map { allowed.contains($0) ? String(UnicodeScalar($0)) : "%\(hexadecimal(UInt64($0), digits: 2))" }.joined()
        if name.isEmpty { return "%" }
        if name.utf8.count <= 120 { return name }
        let hash = text.utf8.reduce(14_695_981_039_346_656_037 as UInt64) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        return "\(name.prefix(80))-\(hexadecimal(hash, digits: 16))"
    }

    /// Returns a string literal of Swift.
    static func literal(_ text: String) -> String {
        let content = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\\", "\"": "\\\(scalar)"
            default: isVisible(scalar) ? String(scalar) : escape(scalar)
            }
        }
        return "\"\(content.joined())\""
    }

    /// Returns a string literal of Swift in which quotation marks need no escape. Text with invisible characters gives an
    /// ordinary literal.
    static func rawLiteral(_ text: String) -> String {
        guard text.unicodeScalars.allSatisfy(isVisible) else { return literal(text) }
        var longest = 0
        var run = 0
        // Swift's parser sees the scalars: a combining mark behind a number sign does not hide it.
        for scalar in text.unicodeScalars {
            run = scalar == "#" ? run + 1 : 0
            longest = max(longest, run)
        }
        let marks = String(repeating: "#", count: longest + 1)
        return "\(marks)\"\(text)\"\(marks)"
    }

    /// Returns one line without invisible characters, for comments and terminals.
    static func line(_ text: String) -> String {
        text.unicodeScalars.map { isVisible($0) ? String($0) : escape($0) }.joined()
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String { "\\u{\(hexadecimal(UInt64(scalar.value), digits: 1))}" }

    private static func hexadecimal(_ number: UInt64, digits: Int) -> String {
        let text = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
