import BackendContract
import LocalData
import Testing

/// Expects a `StorageError` with one of the given codes. The message of an error from this library must be a sentence.
/// - Parameters:
///   - key: The key name in the error. If it is given, the outcome must be `notApplied`, too.
///   - words: The texts that the message must contain.
///   - isSentence: False for an error that the test throws.
///   - hidden: The texts that no printed form of the error may contain.
/// - Returns: The error, or nil if no `StorageError` was thrown.
@discardableResult
func expectRefusal(
    _ codes: StorageError.Code..., of key: String? = nil, saying words: String..., isSentence: Bool = true, hiding hidden: [String] = [],
    at location: SourceLocation = #_sourceLocation, body: () async throws -> Void
) async -> StorageError? {
    let error: StorageError
    do {
        try await body()
        Issue.record("nothing was thrown, expected \(codes)", sourceLocation: location)
        return nil
    } catch let refusal as StorageError {
        error = refusal
    } catch {
        Issue.record("\(error) was thrown, expected \(codes)", sourceLocation: location)
        return nil
    }
    #expect(codes.contains(error.code), "\(error)", sourceLocation: location)
    if isSentence { #expect(error.message.split(separator: " ").count >= 4, "\(error)", sourceLocation: location) }
    for word in words { #expect(error.message.contains(word), "\(error)", sourceLocation: location) }
    if let key {
        #expect(error.keyName == key, "\(error)", sourceLocation: location)
        #expect(error.outcome == .notApplied, "\(error)", sourceLocation: location)
    }
    var dumped = ""
    dump(error, to: &dumped)
    for text in ["\(error)", String(reflecting: error), dumped, error.underlying.map { "\($0)" } ?? ""] {
        for part in hidden { #expect(!text.contains(part), "\(text)", sourceLocation: location) }
    }
    return error
}
