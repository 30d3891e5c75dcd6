import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalDataAuthoring

/// Names of keys and catalogs with any characters, in file names, code and output.
@Suite(.inTurn) struct HostileNameTests {
    private static let hostile = [
        "", ".", "..", "../../etc/passwd", "a/b", "class", "1st", "naïve", "日本", "👩‍👩‍👧", "a\nb", "a*/ b", "\\(exit(1))", "\"", "`", "\u{0}",
        "\u{202E}gnp", "\r\n#error", String(repeating: "x", count: 400), "a\u{2028}import Evil",
    ]

    @Test(arguments: hostile) func `a file name of a hostile text is one component of a path`(_ text: String) {
        let name = SwiftText.fileName(text)
        #expect(name.utf8.allSatisfy { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ".") && $0 > 32 && $0 < 127 })
        #expect(!name.isEmpty && name.utf8.count <= 120)
    }

    @Test func `different texts give different file names`() {
        #expect(Set(Self.hostile.map(SwiftText.fileName)).count == Self.hostile.count)
        let long = String(repeating: "y", count: 300)
        #expect(SwiftText.fileName(long + "a") != SwiftText.fileName(long + "b"))
    }

    @Test func `identifiers of hostile texts are ASCII letters and digits, and differ`() {
        let names = SwiftText.identifiers(Self.hostile)
        #expect(names.count == Self.hostile.count && Set(names.values).count == names.count)
        for name in names.values {
            #expect(name.first.map { $0.isASCII && $0.isLetter } == true, "\(name)")
            #expect(name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }, "\(name)")
        }
        #expect(SwiftText.identifier("old.access_token") == "OldAccessToken")
    }

    @Test(arguments: hostile) func `a literal of a hostile text is one line that ends where the text ends`(_ text: String) {
        let literal = SwiftText.literal(text)
        #expect(!literal.unicodeScalars.contains { $0.properties.generalCategory == .control || $0 == "\u{2028}" || $0 == "\u{202E}" })
        // No quotation mark ends the literal early, and no interpolation begins: each one has a backslash before it, which has none.
        var isEscaped = false
        for character in literal.dropFirst().dropLast() {
            #expect(character != "\"" || isEscaped)
            #expect(character != "(" || !isEscaped)
            isEscaped = character == "\\" && !isEscaped
        }
        #expect(!isEscaped)
        #expect(!SwiftText.line(text).contains { $0.isNewline })
    }

    @Test func `a raw literal has more number signs than its text`() {
        #expect(SwiftText.rawLiteral(#"{"a":1}"#) == ##"#"{"a":1}"#"##)
        #expect(SwiftText.rawLiteral(##"{"a":"\#(x)"##) == ###"##"{"a":"\#(x)"##"###)
        // A combining mark makes one character of the number sign and itself, but Swift's parser sees the number sign alone.
        #expect(SwiftText.rawLiteral("\"##\u{301}") == "###\"\"##\u{301}\"###")
        #expect(SwiftText.rawLiteral("a\nb") == #""a\u{A}b""#)
    }

    struct Number: Codable { var a: Int }
    struct Text: Codable { var a: String }
    struct HostileKeys: StorageKeyCatalog {
        let id = "../\n..//Kéys"
        var allKeys: [AnyStorageKey] = []

        init() {}

        init<Value: Codable & Sendable>(_ type: Value.Type, _ names: [String]) {
            allKeys = names.map {
                .key(StorageKey<Value>(name: $0, domain: .userDefaults, owner: "Tests", description: "A value"))
            }
        }
    }

    @Test func `hostile names of keys and catalogs add no line and no file outside the package`() async throws {
        let names = ["a/b", "a*/ b", "class", "\\(exit(1))", "quo\"te", "ti`ck", "日本"]
        let package = try AuthoredPackage(module: "LocalDataAuthoringTests")
        let first = try await package.run("make-migrations", for: HostileKeys(Text.self, names))
        #expect(first.status == 0, "\(first.text)")
        let second = try await package.run("make-migrations", for: HostileKeys(Number.self, names))
        #expect(second.status == 0, "\(second.text)")
        let lines = second.text.split(separator: "\n")
        #expect(lines.count == 1 + names.count + 2 + 1 + names.count + 1, "\(second.text)")
        let files = try package.files()
        #expect(files.contains("AuthoringSamples/Desk/Migrations/KYsRelease2.swift"), "\(files)")
        #expect(files.contains("AuthoringSamples/Migrations/%2E%2E%2F%0A%2E%2E%2F%2FK%C3%A9ys/schema.json"), "\(files)")
        #expect(files.allSatisfy { $0.hasPrefix("AuthoringSamples/") || $0.hasPrefix("LocalDataAuthoringTests/Migrations/KYsRelease") })
        let source = try package.text("AuthoringSamples/Desk/Migrations/KYsRelease2.swift")
        for line in source.split(separator: "\n") {
            let code = line.drop { $0 == " " }
            let isKnown = [
                "//", "import LocalData", "enum KYsRelease2 {", "@Sendable nonisolated static func convert", "throw StorageError(",
                ".migrationFailed, key: \"", "\"The step to version 2", "}",
            ].contains { code.hasPrefix($0) }
            #expect(isKnown, "\(line)")
        }
        #expect(source.contains("func convertClass(") && source.contains("func convertValue("), "\(source)")
    }
}
