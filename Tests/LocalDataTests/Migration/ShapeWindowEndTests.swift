import BackendContract
import Foundation
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// The end of a window of shapes, and several versions in one.
@Suite(.inTurn) struct ShapeWindowEndTests {
    enum End: CaseIterable, Sendable { case version, days, call, request, dropped }

    private static let blue = ThemeV2(title: "Sky", size: 10, accent: "blue")

    @Test(arguments: Place.allCases, End.allCases) func `the end of the window writes the newest shape, and leaves nothing beside it`(
        place: Place, end: End
    ) async throws {
        let clock = TestClock()
        try await place.withLaunches(clock: clock) { launch, domain in
            for isWritten in [false, true] {
                let window: ReleaseWindow =
                    switch end {
                    case .version: .until(version: "3.0")
                    case .days: .for(days: 2)
                    default: .untilReleased
                    }
                let two = launch()
                let key = ShapeWorld.key(domain, keeping: window)
                try await two.set(Self.blue, for: key)
                if isWritten { try await launch().update(ShapeWorld.old(domain)) { $0?.size = 11 } }
                let value = ThemeV2(title: "Sky", size: isWritten ? 11 : 10, accent: "blue")
                _ = try await two.swept(key)
                #expect(try await two.swept(key).message?.contains("version 1") == true)
                switch end {
                case .version:
                    let three = StorageRouter(configuration: configured(two, version: "3.0"))
                    #expect(try await three.swept(key).state == .converted)
                case .days:
                    clock.pass(.seconds(3 * 86_400))
                    // A sweep finds that the days are over, and one a day later ends the window.
                    #expect(try await two.swept(key).state == .unchanged)
                    #expect(try await two.shapes(domain) == ["": 1, "shape:2:": 2])
                    clock.pass(.seconds(90_000))
                    #expect(try await two.swept(key).state == .converted)
                case .request:
                    // As the tool does, which does not know the chain.
                    try await launch().requestReleaseWindowEnd(of: testKey("theme", domain, of: DocumentValue.self))
                    #expect(try await two.swept(key).state == .converted)
                case .call: try await two.endReleaseWindow(of: key)
                case .dropped: #expect(try await two.swept(ShapeWorld.dropped(domain)).state == .converted)
                }
                #expect(try await two.shapes(domain) == ["": 2])
                #expect(try await launch().get(ShapeWorld.dropped(domain)) == value)
                await expectRefusal(StorageError.incompatibleSchema) { _ = try await launch().get(ShapeWorld.old(domain)) }
                // A program that still has the window does not take the end back.
                try await two.set(Self.blue, for: key)
                #expect(try await two.shapes(domain) == ["": 2])
                try await two.remove(key)
            }
        }
    }

    private func configured(_ router: StorageRouter, version: String) -> StorageConfiguration {
        var configuration = router.configuration
        configuration.applicationVersion = version
        return configuration
    }

    @Test(arguments: Place.allCases) func `a read of a program without the window takes all that is beside the value`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let two = launch()
            try await two.set(Self.blue, for: ShapeWorld.key(domain))
            #expect(try await two.get(ShapeWorld.dropped(domain)) == Self.blue)
            #expect(try await two.shapes(domain) == ["": 2])
        }
    }

    @Test(arguments: Place.allCases) func `what nothing merges any more is quarantined`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let (one, two) = (launch(), launch())
            try await two.set(Self.blue, for: ShapeWorld.key(domain))
            try await one.set(ThemeV1(name: "Sun", size: 1), for: ShapeWorld.old(domain))
            #expect(try await two.get(ShapeWorld.dropped(domain)) == ThemeV2(title: "Sun", size: 1))
            #expect(try await two.quarantinedTexts() == [#"{"accent":"blue","size":10,"title":"Sky"}"#])
            #expect(try await two.shapes(domain) == ["": 2])
        }
    }

    @Test(arguments: Place.allCases) func `a window that begins over a later version keeps that`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let two = launch()
            try await two.set(Self.blue, for: ShapeWorld.dropped(domain))
            try await two.update(ShapeWorld.key(domain)) { $0?.size = 2 }
            #expect(try await two.shapes(domain) == ["": 2])
            try await two.remove(ShapeWorld.key(domain))
            try await two.set(Self.blue, for: ShapeWorld.key(domain))
            #expect(try await two.shapes(domain) == ["": 1, "shape:2:": 2])
        }
    }

    // MARK: Three versions

    @Test(arguments: Place.allCases) func `three versions of a program write one value, and each keeps what it knows`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let (one, two, three) = (launch(), launch(), launch())
            let (old, key, third) = (ShapeWorld.old(domain), ShapeWorld.key(domain), ShapeWorld.third(domain))
            try await three.set(ThemeV3(title: "Sky", points: 10, accent: "blue", dark: true), for: third)
            #expect(try await three.shapes(domain) == ["": 1, "shape:2:": 2, "shape:3:": 3])
            #expect(try await one.get(old) == ThemeV1(name: "Sky", size: 10))
            #expect(try await two.get(key) == Self.blue)
            try await two.update(key) { $0?.accent = "red" }
            #expect(try await three.get(third) == ThemeV3(title: "Sky", points: 10, accent: "red", dark: true))
            try await one.update(old) { $0?.size = 11 }
            #expect(try await two.get(key) == ThemeV2(title: "Sky", size: 11, accent: "red"))
            #expect(try await three.get(third) == ThemeV3(title: "Sky", points: 11, accent: "red", dark: true))
            #expect(try await three.swept(third).state == .converted)
            #expect(try await two.swept(key).state == .unchanged)
            #expect(try await two.get(key) == ThemeV2(title: "Sky", size: 11, accent: "red"))
            // Version 1 is gone: version 2 ends its window, and version 3 still keeps what version 2 reads.
            try await two.endReleaseWindow(of: key)
            #expect(try await two.shapes(domain) == ["": 2, "shape:3:": 3])
            try await two.update(key) { $0?.accent = "green" }
            #expect(try await three.get(third) == ThemeV3(title: "Sky", points: 11, accent: "green", dark: true))
            _ = try await three.swept(third)
            #expect(try await three.shapes(domain) == ["": 2, "shape:3:": 3])
            try await three.endReleaseWindow(of: third)
            #expect(try await three.shapes(domain) == ["": 3])
            await expectRefusal(StorageError.incompatibleSchema) { _ = try await two.get(key) }
        }
    }

    @Test(arguments: Place.allCases) func `version 3 takes over what version 2 kept beside the value`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let (one, two, three) = (launch(), launch(), launch())
            try await two.set(Self.blue, for: ShapeWorld.key(domain))
            let third = ShapeWorld.third(domain)
            #expect(try await three.get(third) == ThemeV3(title: "Sky", points: 10, accent: "blue"))
            try await one.update(ShapeWorld.old(domain)) { $0?.size = 11 }
            #expect(try await three.get(third) == ThemeV3(title: "Sky", points: 11, accent: "blue"))
            _ = try await three.swept(third)
            #expect(try await three.shapes(domain) == ["": 1, "shape:2:": 2, "shape:3:": 3])
            #expect(try await two.get(ShapeWorld.key(domain)) == ThemeV2(title: "Sky", size: 11, accent: "blue"))
        }
    }

    // MARK: Documents, backups

    @Test(arguments: Place.allCases) func `steps over documents go back too, and a lone text is one for version 1`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            struct City: Codable, Equatable, Sendable {
                var name: String
                var country = "?"
            }
            let evolution = Evolution.from().to { document in
                document = StoredDocument(["name": document.root])
            } down: { document in
                document = StoredDocument(document["name"] ?? .null)
            }
            .to {
                $0["country"] = "?"
            } down: {
                $0.remove("country")
            }
            let key = testKey("city", domain, of: City.self).evolving(evolution, keeping: .untilReleased, readableBy: 1) {
                City(name: $0.name, country: $1.country)
            }
            let old = textKey("city", domain)
            let (one, two) = (launch(), launch())
            try await two.set(City(name: "Oslo", country: "Norway"), for: key)
            #expect(try await one.get(old) == "Oslo")
            if place.storesNativeValues {
                #expect(try await two.slots(domain).values.first?.record?.payload == .native(.string("Oslo")))
            }
            try await one.set("Bergen", for: old)
            #expect(try await two.get(key) == City(name: "Bergen", country: "Norway"))
        }
    }

    @Test(arguments: Place.allCases) func `the end keeps a backup of what version 1 read`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let two = launch()
            let key = testKey("theme", domain, of: ThemeV2.self)
                .evolving(ShapeWorld.two.keepingBackup(), keeping: .untilReleased, readableBy: 1) { older, newer in
                    ThemeV2(title: older.title, size: older.size, accent: newer.accent)
                }
            try await two.set(Self.blue, for: key)
            try await launch().update(ShapeWorld.old(domain)) { $0?.size = 11 }
            _ = try await two.swept(key)
            // The backup of what version 1 wrote takes the place of all shapes, and the present value is a backup of its own version.
            #expect(try await two.restoreBackup(of: key) == 1)
            #expect(try await two.shapes(domain) == ["": 1])
            #expect(try await two.get(key) == ThemeV2(title: "Sky", size: 11))
            #expect(try await two.restoreBackup(of: key, version: 2) == 2)
            #expect(try await two.get(key) == ThemeV2(title: "Sky", size: 11, accent: "blue"))
        }
    }
}
