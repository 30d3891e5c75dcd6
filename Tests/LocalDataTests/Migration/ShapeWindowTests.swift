import BackendContract
import Foundation
import LocalDataTesting
import Synchronization
import TestSupport
import Testing

@testable import LocalData

/// Two versions of a program use one value at once, each in its own shape.
@Suite(.inTurn) struct ShapeWindowTests {
    private static let blue = ThemeV2(title: "Sky", size: 10, accent: "blue")

    @Test(arguments: Place.allCases) func `version 1 reads and writes what version 2 wrote, again and again, and nothing is lost`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let (one, two) = (launch(), launch())
            let (old, key) = (ShapeWorld.old(domain), ShapeWorld.key(domain))
            try await one.set(ThemeV1(name: "Sea", size: 1), for: old)
            #expect(try await two.get(key) == ThemeV2(title: "Sea", size: 1))
            try await two.set(Self.blue, for: key)
            for size in 11..<14 {
                #expect(try await one.get(old) == ThemeV1(name: "Sky", size: size - 1))
                try await one.update(old) { $0?.size = size }
                #expect(try await two.get(key) == ThemeV2(title: "Sky", size: size, accent: "blue"))
                if size == 12 { try await two.update(key) { $0?.title = "Sky" } }
            }
            try await one.set(ThemeV1(name: "Sun", size: 3), for: old)
            #expect(try await two.storedValue(for: key)?.value == ThemeV2(title: "Sun", size: 3, accent: "blue"))
            #expect(try await two.exists(key))
            // A sweep writes what the merge made, and the next one does nothing.
            #expect(try await two.swept(key).state == .converted)
            #expect(try await two.swept(key).state == .unchanged)
            #expect(try await one.get(old) == ThemeV1(name: "Sun", size: 3))
            #expect(try await launch().get(key) == ThemeV2(title: "Sun", size: 3, accent: "blue"))
            #expect(try await two.shapes(domain) == ["": 1, "shape:2:": 2])
            #expect(try await two.quarantinedTexts().isEmpty)
        }
    }

    @Test(arguments: Place.allCases) func `a value that only version 1 has written stays as it is`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let (one, two) = (launch(), launch())
            try await one.set(ThemeV1(name: "Sea", size: 1), for: ShapeWorld.old(domain))
            let before = try await two.slots(domain)
            #expect(try await two.get(ShapeWorld.key(domain)).title == "Sea")
            #expect(try await two.swept(ShapeWorld.key(domain)).state == .unchanged)
            #expect(try await two.slots(domain, also: ["shape:2:"]) == before)
        }
    }

    @Test(arguments: Place.allCases) func `a batch writes all shapes of all its values, or nothing`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let (one, two) = (launch(), launch())
            let other = textKey("other", domain)
            try await two.batch { batch in
                batch.set(Self.blue, for: ShapeWorld.key(domain))
                batch.set("with it", for: other)
            }
            #expect(try await one.get(ShapeWorld.old(domain)) == ThemeV1(name: "Sky", size: 10))
            #expect(try await launch().get(ShapeWorld.key(domain)) == Self.blue)
            #expect(try await one.get(other) == "with it")
            try await two.batch { $0.remove(ShapeWorld.key(domain)) }
            #expect(try await two.shapes(domain).isEmpty)
            // The older shape of one value cannot tell all: the whole batch is refused.
            await expectRefusal(StorageError.encodingFailed, of: "theme") {
                try await two.batch { batch in
                    batch.set("changed", for: other)
                    batch.set(Self.blue, for: ShapeWorld.plain(domain))
                }
            }
            #expect(try await one.get(other) == "with it")
        }
    }

    @Test(arguments: Place.allCases) func `without a merge, the older shape has to tell everything`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let (one, two) = (launch(), launch())
            let key = ShapeWorld.plain(domain)
            try await two.set(ThemeV2(title: "Sea", size: 1), for: key)
            await expectRefusal(StorageError.encodingFailed, of: "theme") { try await two.update(key) { $0?.accent = "blue" } }
            let error = await expectRefusal(StorageError.encodingFailed, of: "theme", saying: "version 1") {
                try await two.set(Self.blue, for: key)
            }
            #expect(error?.outcome == .notApplied)
            #expect(try await one.get(ShapeWorld.old(domain)) == ThemeV1(name: "Sea", size: 1))
            #expect(try await two.get(key) == ThemeV2(title: "Sea", size: 1))
            #expect(try await two.shapes(domain) == ["": 1])
            try await one.set(ThemeV1(name: "Sun", size: 2), for: ShapeWorld.old(domain))
            #expect(try await two.swept(key).state == .unchanged)
            #expect(try await two.get(key) == ThemeV2(title: "Sun", size: 2))
        }
    }

    /// A keyring commits one change at a time: nothing can be kept beside a value.
    @Test func `in a store that commits one change at a time, the older shape has to tell everything`() async throws {
        let machine = TestMachine()
        let domain = StorageDomain.keychain(service: "s")
        let (one, two) = (machine.launch(), machine.launch())
        let key = ShapeWorld.key(domain)
        await expectRefusal(StorageError.encodingFailed, of: "theme") { try await two.set(Self.blue, for: key) }
        #expect(try await two.value(for: key) == nil)
        try await two.set(ThemeV2(title: "Sea", size: 1), for: key)
        #expect(try await one.get(ShapeWorld.old(domain)) == ThemeV1(name: "Sea", size: 1))
        try await one.update(ShapeWorld.old(domain)) { $0?.size = 7 }
        #expect(try await two.get(key) == ThemeV2(title: "Sea", size: 7))
        try await two.remove(key)
        #expect(try await one.value(for: ShapeWorld.old(domain)) == nil)
    }

    @Test func `a field that only the newer shape has is kept beside the older shape`() async throws {
        let router = StorageRouter(configuration: .inMemory())
        let key = ShapeWorld.key(.userDefaults)
        try await router.set(Self.blue, for: key)
        #expect(try await router.get(key).accent == "blue")
    }

    @Test(arguments: Place.allCases) func `observers see each value in the newest shape, and what version 1 writes`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let (one, two) = (launch(), launch())
            let key = ShapeWorld.key(domain)
            var values = two.values(for: key).makeAsyncIterator()
            #expect(try await values.next() == .some(nil))
            try await two.set(Self.blue, for: key)
            try await two.set(ThemeV2(title: "Sky", size: 11, accent: "red"), for: key)
            try await two.remove(key)
            #expect(try await values.next() == Self.blue)
            #expect(try await values.next() == ThemeV2(title: "Sky", size: 11, accent: "red"))
            #expect(try await values.next() == .some(nil))
            try await two.set(Self.blue, for: key)
            #expect(try await values.next() == Self.blue)
            try await one.set(ThemeV1(name: "Sun", size: 1), for: ShapeWorld.old(domain))
            guard place == .memory else { return }
            #expect(try await values.next() == ThemeV2(title: "Sun", size: 1, accent: "blue"))
        }
    }

    // MARK: Removing

    @Test(arguments: Place.allCases) func `a removal takes all shapes with it`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let (one, two) = (launch(), launch())
            let key = ShapeWorld.key(domain)
            for remove in [0, 1, 2] {
                try await two.set(Self.blue, for: key)
                switch remove {
                case 0: try await two.remove(key)
                case 1: try await two.update(key) { $0 = nil }
                // A program that has dropped the window still removes what it left.
                default: try await two.remove(ShapeWorld.dropped(domain))
                }
                #expect(try await two.shapes(domain).isEmpty)
                #expect(try await one.value(for: ShapeWorld.old(domain)) == nil)
                #expect(try await two.value(for: key) == nil)
            }
            #expect(try await two.quarantinedTexts().isEmpty)
        }
    }

    @Test(arguments: Place.allCases) func `what version 1 removes is removed, and the newer shape goes with the next sweep`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let (one, two) = (launch(), launch())
            let key = ShapeWorld.key(domain)
            try await two.set(Self.blue, for: key)
            try await one.remove(ShapeWorld.old(domain))
            #expect(try await two.value(for: key) == nil)
            #expect(try await !two.exists(key))
            #expect(try await two.shapes(domain) == ["shape:2:": 2])
            #expect(try await two.swept(key).state == .resolved)
            #expect(try await two.shapes(domain).isEmpty)
            #expect(try await two.quarantinedTexts() == [#"{"accent":"blue","size":10,"title":"Sky"}"#])
            #expect(try await two.swept(key).steps.isEmpty)
            // What comes next has nothing of it.
            try await one.set(ThemeV1(name: "Sun", size: 1), for: ShapeWorld.old(domain))
            #expect(try await two.get(key) == ThemeV2(title: "Sun", size: 1))
        }
    }

    @Test(arguments: Place.allCases) func `a value over what version 1 removed has nothing of the one before`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let (one, two) = (launch(), launch())
            let key = ShapeWorld.key(domain)
            try await two.set(Self.blue, for: key)
            try await one.remove(ShapeWorld.old(domain))
            try await two.set(ThemeV2(title: "Sun", size: 1), for: key)
            try await one.update(ShapeWorld.old(domain)) { $0?.size = 2 }
            #expect(try await two.get(key) == ThemeV2(title: "Sun", size: 2))
        }
    }

    @Test(arguments: Place.allCases) func `what version 1 writes after it removed the value has nothing of the one before`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let (one, two) = (launch(), launch())
            let (old, key) = (ShapeWorld.old(domain), ShapeWorld.key(domain))
            for isWritten in [false, true] {
                try await two.set(Self.blue, for: key)
                if isWritten { try await one.set(ThemeV1(name: "Moon", size: 3), for: old) }
                try await one.remove(old)
                try await one.set(ThemeV1(name: "Sun", size: 1), for: old)
                #expect(try await two.get(key) == ThemeV2(title: "Sun", size: 1))
                try await one.update(old) { $0?.size = 2 }
                #expect(try await two.swept(key).state == .converted)
                #expect(try await two.quarantinedTexts().count == (isWritten ? 2 : 1))
                #expect(try await two.swept(key).state == .unchanged)
                #expect(try await two.get(key) == ThemeV2(title: "Sun", size: 2))
                // What version 2 writes from then on is kept as before.
                try await two.update(key) { $0?.accent = "red" }
                try await one.set(ThemeV1(name: "Star", size: 4), for: old)
                #expect(try await two.get(key) == ThemeV2(title: "Star", size: 4, accent: "red"))
            }
        }
    }

    @Test(arguments: Place.allCases) func `what version 2 writes after it removed the value has nothing that only version 3 knew`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let (one, two, three) = (launch(), launch(), launch())
            let (key, third) = (ShapeWorld.key(domain), ShapeWorld.third(domain))
            try await three.set(ThemeV3(title: "Sky", points: 10, accent: "blue", dark: true), for: third)
            try await two.remove(key)
            try await two.set(Self.blue, for: key)
            #expect(try await three.get(third) == ThemeV3(title: "Sky", points: 10, accent: "blue"))
            try await one.update(ShapeWorld.old(domain)) { $0?.size = 11 }
            #expect(try await three.get(third) == ThemeV3(title: "Sky", points: 11, accent: "blue"))
            #expect(try await two.get(key) == ThemeV2(title: "Sky", size: 11, accent: "blue"))
            #expect(try await three.swept(third).state == .converted)
            #expect(try await three.swept(third).state == .unchanged)
            try await three.update(third) { $0?.dark = true }
            try await two.update(key) { $0?.accent = "red" }
            #expect(try await three.get(third) == ThemeV3(title: "Sky", points: 11, accent: "red", dark: true))
        }
    }

    @Test(arguments: Place.allCases) func `a value that has expired goes in all its shapes`(place: Place) async throws {
        let clock = TestClock()
        try await place.withLaunches(clock: clock) { launch, domain in
            let two = launch()
            let key = ShapeWorld.key(domain).expiring(after: .seconds(60))
            try await two.set(Self.blue, for: key)
            clock.pass(.seconds(120))
            #expect(try await two.value(for: key) == nil)
            #expect(try await two.swept(key).state == .expired)
            #expect(try await two.shapes(domain) == ["": 1, "shape:2:": 2])
            clock.pass(.seconds(90_000))
            #expect(try await launch().swept(key).state == .expired)
            #expect(try await two.shapes(domain).isEmpty)
        }
    }
}
