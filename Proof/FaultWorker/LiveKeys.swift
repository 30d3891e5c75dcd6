import Foundation
import LocalData

/// The keys of the values that several processes use at the same time. A key follows from the name of its value.
///
/// A name begins with the kind of value:
/// - `list`, `database` and `ring` are values in the property list, in the database and in the keyring.
/// - `own` is a value in the property list that only one of the processes uses.
/// - `moving` is a value that moves from the list into the database.
/// - `rolling` moves in the same way, in a release window: its legacy location is kept up to date for an older release.
/// - `older` is the legacy location of a `moving` or `rolling` value.
///
/// A name with `count` in it is a counter.
enum LiveKeys {
    static let list = StorageDomain.userDefaults(suite: "shared")
    static let database = StorageDomain.encryptedSQLite(database: "shared")
    /// How many `moving` values there are, and how many `moving-count` values. The workers use them one after the
    /// other.
    static let moving = 48

    /// The key of a name; nil for an unknown kind.
    static func key(_ name: String) -> StorageKey<String>? {
        switch name.prefix(while: { $0 != "-" }) {
        case "list", "older", "own": Keys.text(name, list)
        case "database": Keys.text(name, database)
        case "ring": Keys.text(name, .keychain(service: "limits"))
        case "moving": Keys.text(name, database).moved(from: Keys.text("older-\(name)", list))
        case "rolling":
            Keys.text(name, database).moved(
                from: Keys.text("older-\(name)", list), keeping: .untilReleased, options: MigrationOptions(keepsWeakerCopy: true))
        default: nil
        }
    }

    /// A catalog, the list of keys that a program migrates, with the keys of some names.
    static func catalog(_ names: [String]) -> FaultCatalog { FaultCatalog(allKeys: names.compactMap(key).map { .key($0) }) }

    /// The names of all values that move.
    static let allMoving = (0..<moving).flatMap { ["moving-\($0)", "moving-count-\($0)"] }

    /// The configuration of stores that processes share.
    /// - Parameter deadline: How long a call waits for the lock of a stopped process, in milliseconds; nil for the
    ///   default.
    static func configuration(_ root: String, deadline: Int? = 1_500) -> StorageConfiguration {
        var configuration = Operation.configuration(URL(filePath: root))
        if let deadline { configuration.deadlines.files = .milliseconds(deadline) }
        return configuration
    }
}

/// A call on one value. Its answer is `ok` and the value, or an error's outcome and code; `-` means that there is no
/// value.
struct LiveCall {
    let verb: String
    let name: String
    var argument = ""

    func answer(_ router: StorageRouter) async -> String {
        await telling { () -> String? in
            if verb == "sweep" {
                let report = await router.sweep(
                    LiveKeys.catalog(name == "-" ? LiveKeys.allMoving + ["rolling"] : name.split(separator: ",").map(String.init)))
                if report.isComplete { return "ok complete" }
                let open = (report.blocked + report.failed + report.pending).map { "\($0.key) \($0.state): \($0.message ?? "-")" }
                return "ok incomplete \(open) \(report.rows.filter { !$0.residue.isEmpty }.map(\.residue))"
            }
            if verb == "purge" {
                let values = try await router.quarantine.values()
                for value in values { try await router.quarantine.purge(value) }
                return "ok \(values.count)"
            }
            guard let key = LiveKeys.key(name) else { return "untyped name" }
            switch verb {
            case "get": return "ok \(try await router.value(for: key) ?? "-")"
            case "set": try await router.set(argument, for: key)
            case "remove": try await router.remove(key)
            case "add":
                let sum = try await router.update(key) { value in
                    let sum = (value.flatMap { Int($0) } ?? 0) + 1
                    value = "\(sum)"
                    return sum
                }
                return "ok \(sum)"
            default: return "untyped verb"
            }
            return "ok"
        } ?? ""
    }
}

/// Returns what a function returns. If the function throws, returns the outcome, code and message of the error.
func telling(_ work: () async throws -> String?) async -> String? {
    do { return try await work() } catch let error as StorageError {
        return "\(error.outcome) \(error.code) \(error.message)".replacing("\n", with: " ")
    } catch { return "untyped \(error)".replacing("\n", with: " ") }
}
