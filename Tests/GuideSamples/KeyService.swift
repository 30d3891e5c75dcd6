import Foundation
import LocalData

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A sealing key in a key management service that speaks HTTP.
///
/// `GET` returns the 32 bytes of the key, or 404. `PUT` stores a first key.
public struct KeyService: CustomKeySource {
    private let key: URL
    private let token: @Sendable () -> String

    /// Creates a source for the key at an address. The closure returns the token that the service asks for.
    public init(key: URL, token: @escaping @Sendable () -> String) { (self.key, self.token) = (key, token) }

    /// The key is stored on another machine, and the token for it is not on a disk of this machine.
    public var protection: ProtectionLevel { .keychain }

    /// Fetches the key, or returns nil if the service has none.
    public func load() async throws -> SealingKeyMaterial? {
        let (status, content) = try await send("GET")
        // Only a 404 from the service proves that there is no key. Every other failure is an error.
        return status == 404 ? nil : try SealingKeyMaterial(bytes: content)
    }

    /// Stores a first key, unless the service already has one.
    public func create(_ new: SealingKeyMaterial) async throws -> SealingKeyMaterial {
        // The service answers with 412 if another process was faster.
        let (status, _) = try await send("PUT", new.withBytes { Data($0) })
        if status == 201 { return new }
        guard let present = try await load() else { throw refusal(StorageError.unavailable, "The key service lost the key. Try again.") }
        return present
    }

    private func send(_ method: String, _ content: Data? = nil) async throws -> (status: Int, content: Data) {
        var request = URLRequest(url: key, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 10)
        request.httpMethod = method
        request.httpBody = content
        request.setValue("Bearer \(token())", forHTTPHeaderField: "Authorization")
        if content != nil { request.setValue("*", forHTTPHeaderField: "If-None-Match") }
        let (answer, response) = try await URLSession.shared.data(for: request)
        switch (response as? HTTPURLResponse)?.statusCode ?? 0 {
        case let status where [200, 201, 404, 412].contains(status): return (status, answer)
        case 401, 403: throw refusal(StorageError.accessDenied, "The key service refused this program. Check its token.")
        case let status: throw refusal(StorageError.unavailable, "The key service answered with \(status). Try again.")
        }
    }

    private func refusal(_ code: StorageError.Code, _ message: String) -> StorageError { StorageError(code, key: key.path, message) }
}

func configure(_ configuration: inout StorageConfiguration, _ url: URL, _ token: String) {
    configuration.customKeySources["documents"] = KeyService(key: url) { token }
    configuration.databaseKeySources["documents"] = .custom("documents")
}
