import BackendContract
import Foundation
import LocalDataTesting

@testable import LocalData

/// A theme as version 1 of a program stores it.
struct ThemeV1: Codable, Equatable, Sendable {
    var name: String
    var size: Int
}

/// As version 2 does: it tells more.
struct ThemeV2: Codable, Equatable, Sendable {
    var title: String
    var size: Int
    var accent = "none"
}

/// As version 3 does.
struct ThemeV3: Codable, Equatable, Sendable {
    var title: String
    var points: Int
    var accent = "none"
    var dark = false
}

/// A value that is kept in the shape of version 1, while version 1 of a program still runs.
enum ShapeWorld {
    static let two = Evolution.from(ThemeV1.self).to {
        ThemeV2(title: $0.name, size: $0.size)
    } down: {
        ThemeV1(name: $0.title, size: $0.size)
    }

    static let three = two.to {
        ThemeV3(title: $0.title, points: $0.size, accent: $0.accent)
    } down: {
        ThemeV2(title: $0.title, size: $0.points, accent: $0.accent)
    }

    /// The key of version 1: it knows nothing of later ones.
    static func old(_ domain: StorageDomain) -> StorageKey<ThemeV1> { testKey("theme", domain, of: ThemeV1.self) }

    static func key(_ domain: StorageDomain, keeping window: ReleaseWindow = .untilReleased) -> StorageKey<ThemeV2> {
        testKey("theme", domain, of: ThemeV2.self).evolving(two, keeping: window, readableBy: 1) { older, newer in
            ThemeV2(title: older.title, size: older.size, accent: newer.accent)
        }
    }

    /// The same without a merge: the older shape has to tell everything.
    static func plain(_ domain: StorageDomain, keeping window: ReleaseWindow = .untilReleased) -> StorageKey<ThemeV2> {
        testKey("theme", domain, of: ThemeV2.self).evolving(two, keeping: window, readableBy: 1)
    }

    /// The key of a program that has dropped the window.
    static func dropped(_ domain: StorageDomain) -> StorageKey<ThemeV2> { testKey("theme", domain, of: ThemeV2.self).evolving(two) }

    static func third(_ domain: StorageDomain, keeping window: ReleaseWindow = .untilReleased) -> StorageKey<ThemeV3> {
        testKey("theme", domain, of: ThemeV3.self).evolving(three, keeping: window, readableBy: 1) { older, newer in
            ThemeV3(
                title: older.title, points: older.points, accent: older.accent == "none" ? newer.accent : older.accent, dark: newer.dark)
        }
    }
}

extension StorageRouter {
    /// What the slot of the theme and those beside it hold: the versions, by the namespace.
    func shapes(_ domain: StorageDomain) async throws -> [String: Int] {
        var found: [String: Int] = [:]
        for (address, probe) in try await slots(domain, also: ["shape:2:", "shape:3:"]) where address.name == "theme" {
            if let record = probe.record { found[address.namespace.name] = record.metadata.schemaVersion ?? 0 }
        }
        return found
    }

    /// Sweeps a key, and says what became of it.
    func swept<Value>(_ key: StorageKey<Value>) async throws -> MigrationReport.Row {
        let plan = await planned(key)
        let report = await sweep(TestCatalog(.key(key)))
        var row = report.rows[0]
        row.seconds = plan.seconds
        // A plan is the sweep, rehearsed.
        if row != plan { throw Differs(plan: plan, row: row) }
        return row
    }

    private func planned<Value>(_ key: StorageKey<Value>) async -> MigrationReport.Row {
        _ = try? await registerCatalog(TestCatalog(.key(key)))
        return await planSweep().rows[0]
    }

    struct Differs: Error {
        let plan: MigrationReport.Row
        let row: MigrationReport.Row
    }

    /// The texts of what is in quarantine.
    func quarantinedTexts() async throws -> [String] {
        var texts: [String] = []
        for kept in try await audit().quarantine { texts.append(String(decoding: try await quarantinedData(kept), as: UTF8.self)) }
        return texts.sorted()
    }
}
