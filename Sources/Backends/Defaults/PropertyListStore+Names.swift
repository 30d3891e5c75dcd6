package import BackendContract
package import BackendRuntime
import Crypto
import Foundation

/// The valid names of suites and slots, and the paths of a suite's files. A suite is a named set of defaults in one
/// property list; a slot is the location of one value in it.
extension PropertyListStore {
    /// The maximum length of a suite's name in bytes of UTF-8. The name of a temporary file is longer. With this
    /// maximum it has at most 255 bytes, which is the limit for a name in a directory.
    static let maximumSuiteNameLength = 200

    /// Refuses names of suites that could lead out of the directory, or that no file can have.
    /// - Throws: ``BackendError`` with the code `invalidName`.
    package static func validateSuiteName(_ name: String) throws(BackendError) {
        let advice = "Use a name such as \"com.example.app\"."
        if name.isEmpty { throw BackendError(.invalidName, "A suite's name must not be empty. \(advice)") }
        if name == "." || name == ".." { throw BackendError(.invalidName, "A suite cannot be called \"\(name)\". \(advice)") }
        if name.utf8.count > maximumSuiteNameLength {
            let count = name.utf8.count
            throw BackendError(
                .invalidName, "A suite's name may have at most \(maximumSuiteNameLength) bytes of UTF-8; this one has \(count). \(advice)")
        }
        if name.utf8.contains(UInt8(ascii: "/")) { throw BackendError(.invalidName, "A suite's name must not contain a slash. \(advice)") }
        if name.utf8.starts(with: "file:".utf8) || name.utf8.first == UInt8(ascii: "~") {
            throw BackendError(.invalidName, "A suite's name is not a path or a URL. \(advice)")
        }
        if name.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }) {
            throw BackendError(.invalidName, "A suite's name must not contain control characters. \(advice)")
        }
    }

    /// Returns the path of a suite's property list: `<directory>/<suite>.plist`. Foundation's `UserDefaults` uses the
    /// same path.
    /// - Parameters:
    ///   - suite: The name of the suite.
    ///   - directory: The configuration directory, `$XDG_CONFIG_HOME`.
    /// - Throws: ``BackendError`` with the code `invalidName`.
    package static func path(ofSuite suite: String, in directory: String) throws(BackendError) -> String {
        try validateSuiteName(suite)
        return "\(directory)/\(suite).plist"
    }

    /// Returns the path of the lock file that excludes other writers of a property list. The name is derived from the
    /// path with every symbolic link resolved, so every path to the property list leads to the same lock file.
    /// - Parameters:
    ///   - path: The path of the property list.
    ///   - directory: A directory for state that all writers of the property list share.
    ///   - files: The file system, used only to resolve symbolic links.
    package static func lockPath(forPropertyListAt path: String, in directory: String, files: any FileSystem) -> String {
        let digest = SHA256.hash(data: Array(files.resolve(path).utf8)).withUnsafeBytes { Array($0[..<16]) }
        return "\(directory)/defaults-\(hexadecimalText(of: digest)).lock"
    }

    static func suiteName(ofPath path: String) -> String {
        let name = lastComponent(of: path)
        return name.hasSuffix(".plist") ? String(name.dropLast(6)) : name
    }

    // MARK: Slots

    /// Refuses names that a slot in a property list cannot have.
    static func validate(_ address: StorageAddress) throws(BackendError) {
        try address.validate()
        try validateNormalization(of: address)
        if address.namespace == .values, address.name == PropertyListDocument.reservedName {
            throw BackendError(
                .invalidName, "The name \"\(PropertyListDocument.reservedName)\" is reserved in property lists. Use another name.")
        }
    }

    /// Refuses names that are not in Unicode normal form C.
    /// Reason: "Names in property lists are in Unicode normal form C" in Docs/Decisions/Stores.md.
    static func validateNormalization(of address: StorageAddress) throws(BackendError) {
        for text in [address.namespace.name, address.name] {
            if text.utf8.allSatisfy({ $0 < 0x80 }) { continue }
            guard text.precomposedStringWithCanonicalMapping.utf8.elementsEqual(text.utf8) else {
                throw BackendError(
                    .invalidName,
                    "Property lists cannot distinguish canonically equivalent names: a name must be in Unicode normal form C, and this one is not."
                )
            }
        }
    }

    /// Refuses a mutation (a change of one slot) that is invalid whatever the store contains.
    static func validate(_ mutation: StorageMutation) throws(BackendError) {
        try mutation.address.validate()
        if mutation.address.namespace == .values, mutation.address.name == PropertyListDocument.reservedName {
            try validate(mutation.address)
        }
        switch mutation.operation {
        case .delete, .check: return
        case .tombstone: try validateNormalization(of: mutation.address)
        case .put(let payload, _):
            try validateNormalization(of: mutation.address)
            if case .native(let value) = payload, value.isDeeper(than: maximumDepth) {
                throw BackendError(
                    .unsupported, "The value is nested more than \(maximumDepth) levels deep. Nothing was changed; store it as bytes.")
            }
        }
    }

    /// The maximum depth of nesting of a native value.
    static let maximumDepth = 32
}

extension NativeValue {
    fileprivate func isDeeper(than depth: Int) -> Bool {
        switch self {
        case .array(let elements): depth == 0 || elements.contains { $0.isDeeper(than: depth - 1) }
        case .dictionary(let entries): depth == 0 || entries.values.contains { $0.isDeeper(than: depth - 1) }
        default: false
        }
    }
}
