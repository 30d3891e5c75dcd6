import Foundation

/// The shared coders. Their configuration never changes after they are made, which makes sharing them safe.
enum Coders {
    static let jsonEncoder: JSONEncoder = {
        let encoder = JSONEncoder()
        // Equal values have equal bytes: comparisons and fingerprints rely on it.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()
    static let jsonDecoder = JSONDecoder()
    static let plistEncoder: PropertyListEncoder = {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        return encoder
    }()
    static let plistDecoder = PropertyListDecoder()
}
