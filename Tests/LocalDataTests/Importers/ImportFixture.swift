import Foundation
import TestSupport

/// The files that `Fixtures/Importers/make-fixtures.py` wrote.
enum ImportFixture {
    /// A text in the fixtures that no error may contain.
    static let secret = "correct horse battery staple"

    /// Returns the location of a file.
    static func file(_ name: String) -> URL { testsFolder.appending(path: "LocalDataTests/Fixtures/Importers/\(name)") }

    /// Returns the content of a file.
    static func data(_ name: String) throws -> Data { try Data(contentsOf: file(name)) }

    /// The property lists that cannot be read. Each is damaged in another way.
    static let damagedLists = ["truncated.plist", "truncated-xml.plist", "duplicate-name.plist", "huge-count.plist", "empty.plist"]

    /// The property lists that are intact, and that no store of this version can hold.
    static let unsupportedLists = ["self-containing.plist", "wide-integer.plist"]

    /// The archives that cannot be read. Each is damaged in another way.
    static let damagedArchives = [
        "truncated.archive", "no-archive.archive", "no-object.archive", "own-class.archive", "no-class.archive",
        "list-without-class.archive", "duplicate-name.archive", "missing-value.archive", "short-uuid.archive", "text-as-date.archive",
        "negative-reference-xml.archive",
    ]

    /// The archives that are refused, because they expand without an end, or because this version does not support them.
    static let unsupportedArchives = [
        "cycle.archive", "laughs.archive", "deep.archive", "list-as-name.archive", "other-archiver.archive", "other-version.archive",
    ]
}
