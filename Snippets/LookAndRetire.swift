// What is left to do, what was kept aside, and which migrations have done their work.
// snippet.hide
import Foundation
import LocalData

let window = StorageKeyGroup(owner: "Window", domain: .userDefaults)

struct AppKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] {
        [.key(window.key("width", "The window's width") as StorageKey<Int>)]
    }
}

let router = StorageRouter(configuration: .inMemory())
// snippet.show
// What a sweep would do; nothing is written.
try await router.registerCatalog(AppKeys())
for row in await router.planSweep().rows { print("\(row.key): \(row.state), from \(row.from ?? "nowhere else")") }
// snippet.hide

// snippet.show
// A sweep with progress. It opens no prompt, and one bad key stops no other.
let report = await router.sweep { progress in print("\(progress.finished) of \(progress.total)") }
for row in report.failed { print("\(row.key) failed (\(row.errorCode ?? "")): \(row.message ?? "")") }
for row in report.rows where !row.residue.isEmpty { print("\(row.key) is in place; left behind: \(row.residue)") }
// snippet.hide

// snippet.show
// What was replaced without anybody having seen it.
for value in try await router.audit().quarantine {
    print("\(value.key) stood in \(value.place): \(value.reason)")
    let bytes = try await router.quarantinedData(value)
    print("\(bytes.count) bytes")
    try await router.discardQuarantined(value)  // only once somebody has seen it
}
// snippet.hide

// snippet.show
// Which migrations have nothing left to do here.
for row in try await router.audit().rows {
    let isSettled = [.unchanged, .absent, .removed].contains(row.state) && row.residue.isEmpty
    let last = row.migrationLastWorked.map { Date(timeIntervalSince1970: $0).formatted(.iso8601) } ?? "never, as far as is known"
    print("\(row.key): \(isSettled ? "settled" : row.state.rawValue), brought by \(row.migration ?? "no migration"), last worked \(last)")
}
