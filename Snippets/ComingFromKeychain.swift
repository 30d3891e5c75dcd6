// The calls of Apple's Keychain Services, and the corresponding calls of LocalData.
// snippet.hide
import Foundation
import LocalData

func check(_ holds: Bool, _ line: Int = #line) { if !holds { fatalError("line \(line)") } }

let storage = StorageRouter(configuration: .inMemory())
// snippet.show
let accounts = StorageKeyGroup(owner: "Network", domain: .keychain(service: "com.example.accounts"))  // kSecAttrService

func password(of account: String) -> StorageKey<String> { accounts.key(account, "The password of \(account)") }  // kSecAttrAccount

try await storage.set("correct horse", for: password(of: "kari"))  // SecItemAdd, or SecItemUpdate if there is an item
let kari = try await storage.value(for: password(of: "kari"))  // SecItemCopyMatching; nil is errSecItemNotFound
let names = try await storage.names(of: accounts.domain)  // kSecMatchLimitAll: the accounts, without the passwords
try await storage.remove(password(of: "kari"))  // SecItemDelete; no error if there is no item
// snippet.hide
check(kari == "correct horse" && names == ["kari"])
check(try await storage.value(for: password(of: "kari")) == nil)

// snippet.show
struct AccountExists: Error {}

/// Adds a password as SecItemAdd does: an account that exists is an error, and its password stays.
func add(_ new: String, for account: String) async throws {
    try await storage.update(password(of: account)) { stored in
        guard stored == nil else { throw AccountExists() }  // errSecDuplicateItem
        stored = new
    }
}
// snippet.hide
try await add("first", for: "ola")
do {
    try await add("second", for: "ola")
    check(false)
} catch is AccountExists {}
check(try await storage.get(password(of: "ola")) == "first")

// snippet.show
/// Returns the password of an account, and asks the user to unlock the keyring if that is necessary.
func signIn(_ account: String) async throws -> String? {
    do {
        return try await storage.get(password(of: account))
    } catch StorageError.notFound {  // errSecItemNotFound
        return nil
    } catch StorageError.locked {  // errSecInteractionNotAllowed
        try await storage.unlock(accounts.domain)  // throws promptDismissed: errSecUserCanceled
        return try await storage.value(for: password(of: account))
    }
}
// snippet.hide
check(try await signIn("ola") == "first")
check(try await signIn("sam") == nil)
// snippet.show

// Items that Python's keyring stored: its program and this one read and write the same items.
var configuration = StorageConfiguration.xdg(applicationID: "com.example.app")
configuration.keychainStyles["com.example.accounts"] = .pythonKeyring
// snippet.hide
check(configuration.keychainStyles.count == 1)
