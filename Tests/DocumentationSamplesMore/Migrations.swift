import Foundation
import LocalData

/// Samples of the migrations, their options and their reports. They are compiled, and not run.
enum MigrationSamples {
    static func simple(_ storage: StorageRouter) async throws {
        let city = StorageKey<String>(
            name: "city", domain: .userDefaults, owner: "Weather", description: "The first city to show",
            migration: { key in AnyStorageMigration(SimpleLegacyMigration(destinationKey: key, sourceKey: .oldCity)) })
        do { print(try await storage.get(city)) } catch StorageError.migrationFailed {
            print("The value is still in its legacy location.")
        }
    }

    static func transforming(_ storage: StorageRouter) async throws {
        let text: StorageKey<String> = older.key("intervalText", "Minutes between updates, as text")
        let interval = StorageKey<Int>(name: "interval", domain: .userDefaults) { key in
            AnyStorageMigration(
                TransformingMigration(destinationKey: key, sourceKey: text) { text in
                    guard let minutes = Int(text) else { throw NotANumber() }  // `get` throws migrationFailed, and the text stays
                    return minutes
                })
        }
        print(try await storage.get(interval))
    }

    static func aggregating(_ storage: StorageRouter) async throws {
        let first: StorageKey<String> = older.key("firstName", "The first name")
        let last: StorageKey<String> = older.key("lastName", "The last name")
        let observer = StorageKey<String>(name: "observer", domain: .userDefaults) { key in
            AnyStorageMigration(
                AggregatingMigration(destinationKey: key, sourceKeys: first, last) { (first: String?, last: String?) in
                    guard let first, let last else { return nil }  // wait until both values exist
                    return "\(first) \(last)"
                })
        }
        print(try await storage.value(for: observer) ?? "not complete yet")
    }

    static func conditional() -> StorageKey<String> {
        let city = StorageKey<String>(name: "city", domain: .userDefaults) { key in
            let move = SimpleLegacyMigration(destinationKey: key, sourceKey: StorageKey.oldCity)
            return AnyStorageMigration(ConditionalMigration(move) { storage, context in context.reason == .sweep })
        }
        return city
    }

    static func below() -> StorageKey<String> {
        let city = StorageKey<String>(name: "city", domain: .userDefaults) { key in
            let move = SimpleLegacyMigration(destinationKey: key, sourceKey: StorageKey.oldCity)
            return AnyStorageMigration(ConditionalMigration(move, below: "3.0"))  // not after version 3.0 completed a sweep
        }
        return city
    }

    static func erased() -> StorageKey<String> {
        let token = StorageKey<String>(
            name: "token", domain: .keychain, owner: "Accounts", description: "The token of the account in use",
            migration: { _ in AnyStorageMigration(TokenOfTheAccountInUse()) })
        return token
    }

    static func move(_ context: MigrationContext, _ source: StorageKey<String>, _ destination: StorageKey<Int>) async throws {
        let result = try await context.move(from: source, to: destination) { text in
            guard let number = Int(text) else { throw NotANumber() }  // the call throws, and the source keeps its value
            return number
        }
        print(result.sources.isEmpty ? "There was nothing to move." : "Moved.")
    }

    static func options() -> StorageKey<String> {
        let keyring: StorageKey<String> = StorageKeyGroup(owner: "Weather", domain: .keychain).key("page", "The last page, in version 1")
        let page: StorageKey<String> = settings.key("page", "The last page")
            .moved(from: keyring, options: MigrationOptions(whenSourceUnavailable: .skip, allowsWeakerProtection: true))
        // Without the second option, `get` throws weakerProtection, and the value stays in the keyring.
        return page
    }

    static func policy() -> StorageKey<[String]> {
        let recent: StorageKey<[String]> = settings.key("recent", "The cities that were shown last")
            .moved(from: older.key("recent", "The cities, in version 1"))
            .resolvingConflicts(.merge { mine, older in (mine ?? []) + older.filter { !(mine ?? []).contains($0) } })
        return recent
    }

    static func result(_ storage: StorageRouter) async throws {
        let result = try await storage.forceMigration(for: .city)
        guard result.isSuccess else { return print(result.errors) }
        print("\(result.key ?? "") was moved from \(result.sources), in \(result.duration)")
    }

    static func windows() -> [StorageKey<String>] {
        let city: StorageKey<String> = settings.key("city", "The first city to show")
            .moved(from: .oldCity, keeping: .until(version: "3.0"))  // version 1 still reads and writes the legacy location
        let theme: StorageKey<String> = settings.key("theme", "The colours")
            .moved(from: older.key("skin", "The colours, in version 1"), keeping: .for(days: 60))
        let units: StorageKey<String> = settings.key("units", "Degrees Celsius or Fahrenheit")
            .moved(from: older.key("units", "The units, in version 1"), keeping: .untilReleased)
        return [city, theme, units]
    }

    static func requireComplete(_ storage: StorageRouter) async throws {
        let report = try await storage.registerCatalog(AppKeys(), migrateImmediately: true)
        do { try report.requireComplete() } catch StorageError.locked {
            print("\(report.blocked.count) values wait for the keyring.")
        } catch StorageError.residueRemains {
            print("All values were moved. Older copies remain, and the next sweep tries again.")
        }
    }

    static func report(_ storage: StorageRouter) async {
        let report = await storage.sweep()
        for row in report.moved { print("\(row.key): \(row.from) -> \(row.to), \(row.bytes) bytes") }
        for row in report.failed { print("\(row.key) failed (\(row.errorCode?.name ?? "")): \(row.message ?? "")") }
    }

    static func states(_ report: MigrationReport) {
        for row in report.rows {
            switch row.state {
            case .failed: print("\(row.key) stays in its legacy location: \(row.message ?? "")")
            case .blocked: print("\(row.key) waits for its store")
            case .leftOver: print("\(row.key) is retired, and its slot still has a value")
            default: break
            }
        }
    }

    static func steps(_ report: MigrationReport) {
        for row in report.rows {
            for step in row.steps { print("\(row.key): \(step.action.rawValue) \(step.place), \(step.count) times") }
        }
        for row in report.rows where row.conflict?.destination.isQuarantined == true {
            print("The value of \(row.key) was replaced. The previous value is in the quarantine.")
        }
    }

    static func progress(_ storage: StorageRouter) async {
        await storage.sweep { progress in
            let records = progress.records.map { ", record \($0.finished) of \($0.total ?? 0)" } ?? ""
            print("\(progress.finished) of \(progress.total) keys, \(progress.key)\(records)")
        }
    }

    static func plan(_ storage: StorageRouter) async throws {
        try await storage.registerCatalog(AppKeys())
        let plan = await storage.planSweep()
        for row in plan.rows { print("\(row.key) would be \(row.state.rawValue), from \(row.from)") }
        for row in plan.failed { print("\(row.key) would fail: \(row.message ?? "")") }
    }

    static func force(_ storage: StorageRouter) async throws {
        do { try await storage.forceMigration(for: .apiToken) } catch StorageError.locked {
            try await storage.unlock(.keychain)  // may open a prompt
            try await storage.forceMigration(for: .apiToken)
        }
    }

    static func endWindow(_ storage: StorageRouter) async throws {
        let result = try await storage.endReleaseWindow(for: .city)  // no older release runs any more
        print("The legacy location was emptied: \(result.isSuccess)")
        do {
            print(try await storage.endReleaseWindow(in: notes).records ?? 0, "records were moved")
        } catch let error as StorageError where error.code == .migrationFailed {
            print("The record \(error.keyName) could not be moved. All others were moved.")
        }
    }

    static func status(_ storage: StorageRouter) async throws {
        for migration in try await storage.migrations() {
            print(migration.id, migration.lastWorked.map { "last worked \($0)" } ?? "never worked", "\(migration.pending) values wait")
            if migration.isSafeToDelete { print("No value on this machine needs it any more.") }
        }
    }

    static func history(_ storage: StorageRouter) async throws {
        let history = try await storage.history()
        for value in history.values { print("\(value.place) was made from \(value.sources) on \(value.date)") }
        for migration in history.migrations where migration.failures > 0 {
            print("\(migration.id) failed \(migration.failures) times: \(migration.lastError ?? "")")
        }
    }

    static func audit(_ storage: StorageRouter) async throws {
        let audit = try await storage.audit()
        for row in audit.rows {
            print("\(row.key) of \(row.owner): \(row.state.rawValue) in \(row.domain), protected as \(row.protection)")
            if let problem = row.message { print("  \(problem)") }
        }
        for row in audit.rows {
            if let copy = row.keeps, copy.isWeaker { print("\(row.key) also exists in \(copy.place), \(copy.until)") }
        }
        for row in audit.rows {
            switch row.olderCopies.answer {
            case .none: print("\(row.key) has no older copy.")
            case .some: print("\(row.key) has \(row.olderCopies.count) older copies: \(row.olderCopies.holding)")
            case .cannotTell: print("\(row.key): read these locations first: \(row.olderCopies.unreadable)")
            }
        }
    }

    static func quarantine(_ storage: StorageRouter) async throws {
        for value in try await storage.quarantine.values() {
            print("\(value.key) was in \(value.place): \(value.reason)")
        }
    }

    static func quarantinedData(_ storage: StorageRouter, _ value: QuarantinedValue) async throws {
        do { print(String(decoding: try await storage.quarantine.data(of: value), as: UTF8.self)) } catch StorageError.corrupted {
            print("The entry is damaged. Its bytes cannot be returned.")
        }
        do { try await storage.quarantine.purge(value) } catch let error as StorageError where error.outcome == .notApplied {
            print("The entry still exists: \(error.message)")
        }
    }

    static func quarantineProperty(_ storage: StorageRouter) async throws {
        let quarantine = storage.quarantine
        for value in try await quarantine.values() where value.key == "city" {
            print(try await quarantine.data(of: value).count, "bytes from \(value.place)")
            try await quarantine.purge(value)  // only after a person has reviewed it
        }
    }

    static func migrateAll(_ storage: StorageRouter) async throws {
        do {
            let result = try await storage.migrateAll(from: "NoteV1", to: notes)
            print("\(result.records ?? 0) records were converted.")
        } catch StorageError.undecodable {
            print("A record cannot be converted. Nothing was changed.")
        }
        let result = try await storage.migrateAll(from: oldNotes, to: notes)
        print("\(result.records ?? 0) records were moved from \(result.sources).")
        let status = try await storage.migration(from: "NoteV1", to: notes)
        if status.pending > 0 { try await storage.migrateAll(from: "NoteV1", to: notes) }
    }

    static func problems(_ storage: StorageRouter) async throws {
        do {
            let report = try await storage.registerCatalog(AppKeys())
            for problem in report.problems { print("Accepted, but: \(problem)") }
        } catch let error as StorageError {
            for problem in error.catalogProblems { print("\(problem.kind.rawValue): \(problem.message) \(problem.remedy)") }
        }
    }

    static func schema() -> CatalogSchema {
        let schema = CatalogSchema(
            "V2", entities: [EntityDescription("notes", version: 2, [AttributeDescription("title", .string)])],
            configurations: ["text": ["notes"]])
        print(schema.entity("notes")?.version ?? 0)  // 2
        return schema
    }
}

struct TokenOfTheAccountInUse: StorageMigration {
    var destinationKey: StorageKey<String> { .apiToken }
    var sources: [AnyStorageKey] { [.key(work), .key(home)] }
    var work: StorageKey<String> { older.key("token.work", "The token of the account for work") }
    var home: StorageKey<String> { older.key("token.home", "The token of the private account") }

    func shouldMigrate(using storage: StorageRouter, context: MigrationContext) async throws -> Bool {
        if try await storage.exists(work) { return true }
        return try await storage.exists(home)
    }
    func migrate(using storage: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        try await context.move(from: storage.exists(work) ? work : home, to: destinationKey) { $0 }
    }
}
