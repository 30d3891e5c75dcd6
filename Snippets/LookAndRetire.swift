// Planning a sweep (a migration of all values), reviewing displaced values, and finding migrations that are no longer
// needed.
import Foundation
import LocalData

let window = StorageKeyGroup(owner: "Window", domain: .userDefaults)

struct AppKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] {
        [.key(window.key("width", "The window's width") as StorageKey<Int>)]
    }
}

let storage = StorageRouter(configuration: .inMemory())
// snippet.show
// Shows what a sweep would do, and writes nothing.
try await storage.registerCatalog(AppKeys())
for row in await storage.planSweep().rows { print("\(row.key): \(row.state), from \(row.from)") }
// snippet.hide

// snippet.show
// A sweep that reports its progress. It opens no prompt, and continues with the other keys after a key has failed.
let report = await storage.sweep { progress in print("\(progress.finished) of \(progress.total)") }
for row in report.failed { print("\(row.key) failed (\(row.errorCode?.name ?? "")): \(row.message ?? "")") }
for row in report.rows where !row.residue.isEmpty { print("\(row.key) is at its destination; residue: \(row.residue)") }
// snippet.hide

// snippet.show
// The values that a migration displaced and that no user has reviewed.
for value in try await storage.audit().quarantine {
    print("\(value.key) stood in \(value.place): \(value.reason)")
    let bytes = try await storage.quarantine.data(of: value)
    print("\(bytes.count) bytes")
    try await storage.quarantine.purge(value)  // only after a user has reviewed it
}
// snippet.hide

// snippet.show
// The migrations that have nothing left to do on this machine.
for row in try await storage.audit().rows {
    let isSettled = [.unchanged, .absent, .removed].contains(row.state) && row.residue.isEmpty
    let last = row.migrationLastWorked.map { $0.formatted(.iso8601) } ?? "never, as far as is known"
    print("\(row.key): \(isSettled ? "settled" : row.state.rawValue), brought by \(row.migration ?? "no migration"), last worked \(last)")
}
