// Planning the migrations of a release: a refused catalog, the plan, progress, retired keys, and the state of many machines.
// snippet.hide
import Foundation
import LocalData

let weather = StorageKeyGroup(owner: "Weather", domain: .userDefaults(suite: "new"))
let old = StorageKeyGroup(owner: "Weather", domain: .userDefaults(suite: "old"))
let storage = StorageRouter(configuration: .inMemory())

// snippet.show
struct WeatherKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(city)] }
    var retiredKeys: [AnyStorageKey] { [.key(units)] }  // no longer used; a value in its slot is reported as leftOver

    let city: StorageKey<String> = weather.key("city", "The first city to show")
        .moved(from: old.key("city", "The city, in version 1"))
    let units: StorageKey<String> = weather.key("units", "Celsius or Fahrenheit, until version 2")
}
// snippet.hide

// snippet.show
// A catalog with an error is refused as a whole, before anything is read.
do {
    let registration = try await storage.registerCatalog(WeatherKeys())
    for problem in registration.problems { print("warning: \(problem)") }
} catch let error as StorageError where !error.catalogProblems.isEmpty {
    for problem in error.catalogProblems { print("\(problem.key): \(problem.message) \(problem.remedy)") }
}
// snippet.hide

// snippet.show
// Rehearses the sweep on the real stores, and writes nothing.
let plan = await storage.planSweep()
for row in plan.rows where ![.unchanged, .absent, .removed].contains(row.state) {
    print("\(row.key): \(row.state)")
    for step in row.steps { print("  \(step.action) \(step.place), \(step.count) times") }
}
if !plan.failed.isEmpty { print("Do not release: \(plan.failed.map(\.key)) would fail.") }
// snippet.hide

// snippet.show
// Progress of keys, and of the records of a large collection.
let report = await storage.sweep { progress in
    if let records = progress.records {
        print("\(progress.key): \(records.finished) of \(records.total ?? 0) records, \(Int(records.perSecond ?? 0)) in a second")
    } else {
        print("\(progress.finished) of \(progress.total) keys")
    }
}
// snippet.hide
print(report.isComplete)

// snippet.show
// A machine's answer, to be collected before a migration is deleted.
let answer = try JSONEncoder().encode(try await storage.migrations())
// snippet.hide

// snippet.show
// All answers: a migration may be deleted if it is safe to delete on every machine.
let answers = try [answer].flatMap { try JSONDecoder().decode([MigrationStatus].self, from: $0) }
for (id, statuses) in Dictionary(grouping: answers, by: \.id) {
    print(id, statuses.allSatisfy(\.isSafeToDelete) ? "may be deleted" : "is needed")
}
