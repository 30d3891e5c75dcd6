import BackendContract
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// References that are created with a record: a call that writes the value with the reference also stores the record.
///
/// The record is stored before the value or in the same commit. A read, and a sweep of all keys and collections, do the
/// same if a migration step creates the reference.
@Suite(.inTurn) struct ReferenceTests {
    /// A person in the format of an older program, with the brother's record inside.
    struct OldPerson: Codable, Equatable, Identifiable {
        struct Inner: Codable, Equatable {
            var id: String
            var name: String
        }
        var id: String
        var name: String
        var brother: Inner?
    }

    struct Person: StoredEntity, Equatable {
        var id: String
        var name: String
        var brother: StorageReference<Person>?

        static let place = TaskLocal<StorageDomain>(wrappedValue: .memory())
        static let chain = TaskLocal<TypedEvolution<Person>?>(wrappedValue: nil)
        static var collection: StorageCollection<Person> {
            let people = StorageCollection<Person>("people", domain: place.get(), owner: "Tests", description: "People")
            return chain.get().map { people.evolving($0) } ?? people
        }

        init(id: String, name: String, brother: Person? = nil) {
            (self.id, self.name, self.brother) = (id, name, brother.map { StorageReference($0) })
        }

        init(_ old: OldPerson) {
            self.init(id: old.id, name: old.name, brother: old.brother.map { Person(id: $0.id, name: $0.name) })
        }
    }

    /// A record of another type that refers to a person.
    struct Note: Codable, Equatable, Identifiable {
        var id: String
        var author: StorageReference<Person>?
        init(id: String, author: Person?) { (self.id, self.author) = (id, author.map { StorageReference($0) }) }
    }

    let nick = Person(id: "Nick", name: "Nick")
    let sam = OldPerson(id: "Sam", name: "Sam", brother: OldPerson.Inner(id: "Nick", name: "Nick"))

    private func people(_ domain: StorageDomain) -> StorageCollection<OldPerson> {
        StorageCollection("people", domain: domain, owner: "Tests", description: "People", typeTag: "Person")
    }

    private func notes(_ domain: StorageDomain) -> StorageCollection<Note> {
        StorageCollection("notes", domain: domain, owner: "Tests", description: "Notes")
    }

    static let chain = Evolution.from(version: 1).decoding(OldPerson.self).to { Person($0) }

    private func withPeople(
        _ place: Place, _ chain: TypedEvolution<Person>? = nil,
        _ body: (_ launch: @escaping () -> StorageRouter, StorageDomain) async throws -> Void
    ) async throws {
        try await place.withLaunches { launch, domain in
            try await Person.chain.withValue(chain) { try await Person.place.withValue(domain) { try await body(launch, domain) } }
        }
    }

    private func expectBothBrothers(_ router: StorageRouter, _ collection: StorageCollection<Person>) async throws {
        let sam = try await router.get("Sam", in: collection)
        #expect(try await router.resolve(sam.brother) == Person(id: "Nick", name: "Nick"))
        #expect(try await router.count(in: collection) == 2)
    }

    // MARK: What a call writes

    @Test(arguments: Place.allCases) func `update stores the records that the new value refers to`(place: Place) async throws {
        try await withPeople(place) { launch, _ in
            try await launch().set(Person(id: "Sam", name: "Sam"), in: Person.collection)
            let answer = try await launch().update("Sam", in: Person.collection) { sam -> Int in
                sam?.brother = StorageReference(nick)
                return 7
            }
            #expect(answer == 7)
            try await expectBothBrothers(launch(), Person.collection)
        }
    }

    @Test(arguments: Place.allCases) func `set and batch store the records that their values refer to`(place: Place) async throws {
        try await withPeople(place) { launch, domain in
            let key = testKey("note", domain, of: Note.self)
            try await launch().set(Note(id: "1", author: nick), for: key)
            let router = launch()
            #expect(try await router.resolve(try await router.get(key).author) == nick)
            let anna = Person(id: "Anna", name: "Anna", brother: Person(id: "Otto", name: "Otto"))
            try await router.batch { batch in
                batch.set(Note(id: "2", author: anna), for: key)
                try batch.set(Note(id: "3", author: anna), in: notes(domain))
            }
            #expect(try await launch().resolve(try await router.get("3", in: notes(domain)).author)?.id == "Anna")
            #expect(try await launch().get("Otto", in: Person.collection).name == "Otto")
            // A record that the batch sets takes precedence over the state of that record inside a reference.
            try await router.batch { batch in
                batch.set(Note(id: "2", author: nick), for: key)
                try batch.set(Person(id: "Nick", name: "Nicholas"), in: Person.collection)
            }
            #expect(try await launch().get("Nick", in: Person.collection).name == "Nicholas")
        }
    }

    @Test func `a reference that is created while its value is encoded also stores the current state of the record`() async throws {
        /// A value that has the record itself as a property, but encodes a reference to it.
        struct Team: Codable, Identifiable {
            var id: String
            var lead: Person
            private enum CodingKeys: String, CodingKey { case id, lead }
            init(id: String, lead: Person) { (self.id, self.lead) = (id, lead) }
            init(from decoder: any Decoder) throws {
                let values = try decoder.container(keyedBy: CodingKeys.self)
                id = try values.decode(String.self, forKey: .id)
                lead = Person(id: try values.decode(StorageReference<Person>.self, forKey: .lead).id, name: "")
            }
            func encode(to encoder: any Encoder) throws {
                var values = encoder.container(keyedBy: CodingKeys.self)
                try values.encode(id, forKey: .id)
                try values.encode(StorageReference(lead), forKey: .lead)
            }
        }
        try await Person.place.withValue(.userDefaults(suite: "people")) {
            let teams = StorageCollection<Team>("teams", domain: .userDefaults(suite: "people"), owner: "Tests", description: "Teams")
            let router = TestMachine().launch()
            try await router.set(Team(id: "a", lead: nick), in: teams)
            try await router.set(Team(id: "a", lead: Person(id: "Nick", name: "Nicholas")), in: teams)
            #expect(try await router.get("Nick", in: Person.collection).name == "Nicholas")
        }
    }

    @Test func `one set stores a chain of 2,000 records, each with a reference to the next`() async throws {
        try await Person.place.withValue(.userDefaults(suite: "people")) {
            var first = Person(id: "0", name: "0")
            for number in 1..<2_000 { first = Person(id: "\(number)", name: "\(number)", brother: first) }
            let router = TestMachine().launch()
            try await router.set(first, in: Person.collection)
            #expect(try await router.count(in: Person.collection) == 2_000)
            #expect(try await router.get("1", in: Person.collection).brother?.id == "0")
        }
    }

    @Test
    func `a referenced record in another store is stored before the value, and if that fails, the value is not written`() async throws {
        let machine = TestMachine()
        let (domain, other) = (StorageDomain.userDefaults(suite: "notes"), StorageDomain.keychain)
        try await Person.place.withValue(other) {
            let key = testKey("note", domain, of: Note.self)
            machine.makeUnavailable(other)
            let router = machine.launch()
            await #expect(throws: StorageError.self) { try await router.set(Note(id: "1", author: nick), for: key) }
            await #expect(throws: StorageError.self) { try await router.update(key) { $0 = Note(id: "1", author: nick) } }
            #expect(try await router.value(for: key) == nil)
            machine.makeAvailable(other)
            try await router.update(key) { $0 = Note(id: "1", author: nick) }
            #expect(try await machine.launch().resolve(try await router.get(key).author) == nick)
        }
    }

    @Test
    func `if the value cannot be written, the error contains the ids of the referenced records that are already stored`() async throws {
        let machine = TestMachine()
        let (domain, other) = (StorageDomain.userDefaults(suite: "notes"), StorageDomain.keychain)
        try await Person.place.withValue(other) {
            let key = testKey("note", domain, of: Note.self)
            machine.makeUnavailable(domain)
            let router = machine.launch()
            let error = await #expect(throws: StorageError.self) { try await router.set(Note(id: "1", author: nick), for: key) }
            #expect(error?.outcome == .unknown)
            #expect(error?.message.contains("Nick") == true, "\(String(describing: error))")
            #expect(try await router.value("Nick", in: Person.collection) == nick)
            machine.makeAvailable(domain)
            try await router.set(Note(id: "1", author: nick), for: key)
            #expect(try await router.resolve(try await router.get(key).author) == nick)
        }
    }

    @Test func `an update that creates a reference retries if another update changed the value first`() async throws {
        let machine = TestMachine()
        try await Person.place.withValue(.userDefaults(suite: "people")) {
            let (one, other) = (machine.launch(), machine.launch())
            try await one.set(Person(id: "Sam", name: "0"), in: Person.collection)
            try await withThrowingTaskGroup { group in
                for router in [one, other] {
                    for number in 0..<10 {
                        group.addTask {
                            try await router.update("Sam", in: Person.collection) { sam in
                                let count = sam.flatMap { Int($0.name) } ?? 0
                                sam?.name = String(count + 1)
                                sam?.brother = StorageReference(Person(id: "\(number)", name: "Somebody"))
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await one.get("Sam", in: Person.collection).name == "20")
            #expect(try await one.count(in: Person.collection) == 11)
        }
    }

    // MARK: References that migrations create

    @Test(arguments: Place.allCases) func `if a migration step creates a reference, a read or a sweep also stores the referenced record`(
        place: Place
    ) async throws {
        for sweeps in [false, true] {
            try await withPeople(place, Self.chain) { launch, domain in
                try await launch().set(sam, in: people(domain))
                let evolving = Person.collection
                if sweeps {
                    let report = try await launch().registerCatalog(TestCatalog(.collection(evolving)), migrateImmediately: true)
                    #expect(report.isComplete)
                }
                try await expectBothBrothers(launch(), evolving)
            }
        }
    }

    @Test(arguments: Place.allCases)
    func `a record inside an old value can be resolved by its reference, and does not overwrite a newer state of the record`(
        place: Place
    ) async throws {
        for isKnown in [false, true] {
            try await withPeople(place, Self.chain) { launch, domain in
                try await launch().set(sam, in: people(domain))
                if isKnown { try await launch().set(Person(id: "Nick", name: "Nicholas"), in: Person.collection) }
                let router = launch()
                for try await var person in router.records(in: Person.collection) where person.id == "Sam" {
                    let name = isKnown ? "Nicholas" : "Nick"
                    #expect(try await router.resolve(person.brother)?.name == name)
                    person.name = "Samuel"
                    try await router.set(person, in: Person.collection)
                    #expect(try await launch().resolve(person.brother)?.name == name)
                    #expect(try await launch().get("Nick", in: Person.collection).name == name)
                }
            }
        }
    }

    @Test(arguments: Place.allCases)
    func `a reference that one migration step creates stays valid if later steps change the value as a StoredDocument`(
        place: Place
    ) async throws {
        struct Renamed: Codable, Equatable, Identifiable {
            var id: String
            var title: String
            var brother: StorageReference<Person>?
        }
        try await withPeople(place) { launch, domain in
            let old = StorageCollection<OldPerson>("friends", domain: domain, owner: "Tests", description: "Friends", typeTag: "Friend")
            try await launch().set(sam, in: old)
            let chain = Evolution.from(version: 1).decoding(OldPerson.self).to { Person($0) }.to { $0.rename("name", to: "title") }
            let typed = StorageCollection<Renamed>("friends", domain: domain, owner: "Tests", description: "Friends", typeTag: "Friend")
                .evolving(chain.decoding(Renamed.self))
            #expect(try await launch().get("Sam", in: typed).title == "Sam")
            #expect(try await launch().get("Nick", in: Person.collection) == nick)
            // A key that reads the value as a document stores the record too.
            try await launch().remove("Nick", in: Person.collection)
            try await launch().set(OldPerson(id: "Tom", name: "Tom", brother: sam.brother), in: old)
            let document = testKey("Tom", domain, of: StoredDocument.self)
            try await launch().set(try StoredDocument(encoding: sam), for: document)
            #expect(try await launch().get(document.evolving(chain))["title"] == "Sam")
            #expect(try await launch().get("Nick", in: Person.collection) == nick)
        }
    }

    @Test(arguments: Place.allCases) func `migrations of collections and lists store the records that their results refer to`(
        place: Place
    ) async throws {
        for way in ["read", "swept", "all", "list"] {
            try await withPeople(place) { launch, domain in
                let older = StorageCollection<OldPerson>("people", domain: place.olderDomain, owner: "Tests", description: "People")
                let list = testKey("people", place.olderDomain, of: [OldPerson].self)
                switch way {
                case "list":
                    try await launch().set([sam], for: list)
                    let moved = Person.collection.moved(from: list) { $0.map { Person($0) } }
                    try await expectBothBrothers(launch(), moved)
                    #expect(try await launch().value(for: list) == nil)
                case "all":
                    try await launch().set(sam, in: older)
                    try await launch().migrateAll(from: older, to: Person.collection.moved(from: older) { Person($0) })
                    try await expectBothBrothers(launch(), Person.collection)
                    #expect(try await launch().count(in: older) == 0)
                default:
                    try await launch().set(sam, in: older)
                    let moved = Person.collection.moved(from: older) { Person($0) }
                    if way == "swept" { try await launch().registerCatalog(TestCatalog(.collection(moved)), migrateImmediately: true) }
                    try await expectBothBrothers(launch(), moved)
                    #expect(try await launch().count(in: older) == 0)
                }
            }
        }
    }

    @Test(arguments: Place.allCases)
    func `the state of a record inside another record does not overwrite the record itself, even if the record is not moved yet`(
        place: Place
    ) async throws {
        try await withPeople(place, Self.chain) { launch, domain in
            // The brother's record exists already.
            let evolving = Person.collection
            try await launch().set(Person(id: "Nick", name: "Nicholas"), in: evolving)
            try await launch().set(sam, in: people(domain))
            let router = launch()
            let found = try await router.get("Sam", in: evolving)
            #expect(try await router.resolve(found.brother)?.name == "Nicholas")
            // The old value, which contains another state of the brother, is quarantined.
            #expect(try await router.audit().quarantine.map(\.key) == ["Sam"])
        }
        try await withPeople(place) { launch, domain in
            // The brother's record is still in the same legacy collection.
            // Adam is moved first and contains another state of Nick.
            let older = StorageCollection<OldPerson>("people", domain: place.olderDomain, owner: "Tests", description: "People")
            let kin = [
                OldPerson(id: "Adam", name: "Adam", brother: OldPerson.Inner(id: "Nick", name: "Nicky")),
                OldPerson(id: "Nick", name: "Nicholas", brother: OldPerson.Inner(id: "Adam", name: "Adam")),
            ]
            for person in kin { try await launch().set(person, in: older) }
            let moved = Person.collection.moved(from: older) { Person($0) }
            #expect(try await launch().get("Adam", in: moved).brother?.id == "Nick")
            #expect(try await launch().get("Nick", in: moved).name == "Nicholas")
            #expect(try await launch().get("Nick", in: moved).brother?.id == "Adam")
            #expect(try await launch().count(in: moved) == 2)
            #expect(try await launch().count(in: older) == 0)
        }
        try await withPeople(place) { launch, domain in
            let older = StorageCollection<OldPerson>("people", domain: place.olderDomain, owner: "Tests", description: "People")
            let kin = (0..<10).map { number in
                OldPerson(
                    id: "\(number)", name: "\(number)", brother: OldPerson.Inner(id: "\((number + 1) % 10)", name: "\((number + 1) % 10)"))
            }
            try await launch().set(kin, in: older)
            let moved = Person.collection.moved(from: older) { Person($0) }
            try await launch().migrateAll(from: older, to: moved)
            #expect(try await launch().count(in: Person.collection) == 10)
            for number in 0..<10 {
                #expect(try await launch().get("\(number)", in: Person.collection).brother?.id == "\((number + 1) % 10)")
            }
            // The brother inside each legacy record has no brother, so he differs from his record in the collection.
            // Each legacy record is therefore quarantined.
            #expect(try await Set(launch().audit().quarantine.map(\.key)) == Set(kin.map(\.id)))
        }
    }

    @Test func `an old value stays unchanged while the record that its converted value refers to cannot be stored`() async throws {
        let machine = TestMachine()
        let (domain, other) = (StorageDomain.userDefaults(suite: "notes"), StorageDomain.keychain)
        struct OldNote: Codable, Identifiable {
            var id: String
            var author: OldPerson.Inner
        }
        let old = StorageCollection<OldNote>("notes", domain: domain, owner: "Tests", description: "Notes", typeTag: "Note")
        let new = notes(domain).evolving(
            Evolution.from(version: 1).decoding(OldNote.self).to {
                Note(id: $0.id, author: Person(id: $0.author.id, name: $0.author.name))
            })
        try await Person.place.withValue(other) {
            try await machine.launch().set(OldNote(id: "1", author: OldPerson.Inner(id: "Nick", name: "Nick")), in: old)
            machine.makeUnavailable(other)
            await #expect(throws: StorageError.self) { try await machine.launch().get("1", in: new) }
            #expect(try await machine.launch().get("1", in: old).author.name == "Nick")
            machine.makeAvailable(other)
            #expect(try await machine.launch().get("1", in: new).author?.id == "Nick")
            #expect(try await machine.launch().get("Nick", in: Person.collection) == nick)
        }
    }
}
