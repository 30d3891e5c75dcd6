import LocalData
import LocalDataTesting
import LocalDataVocabulary

/// A record that can refer to another record of its type, the friend.
struct LostPerson: StoredEntity {
    static let place = TaskLocal<StorageDomain>(wrappedValue: .memory())
    static var collection: StorageCollection<LostPerson> {
        StorageCollection("people", domain: place.get(), owner: "Tests", description: "People")
    }

    var id: String
    var name: String
    var friend: StorageReference<LostPerson>?

    init(_ id: String, _ name: String = "new", friend: LostPerson? = nil) {
        (self.id, self.name, self.friend) = (id, name, friend.map { StorageReference($0) })
    }
}

extension LostAnswerCase {
    // MARK: References

    /// A person as an older program stored it, with the friend inside the record.
    private struct OldPerson: Codable, Sendable {
        struct Friend: Codable, Sendable { var id: String }
        var id: String
        var friend: Friend
    }

    /// A case of two records: person "a" refers to person "b".
    private static func people(
        _ description: String, evolving chain: TypedEvolution<LostPerson>? = nil,
        prepare: @escaping @Sendable (StorageRouter) async throws -> Void = { _ in },
        act: @escaping @Sendable (StorageRouter, LostPerson) async throws -> Void
    ) -> LostAnswerCase {
        LostAnswerCase(description: description) { domain in
            let people = chain.map { LostPerson.collection.evolving($0) } ?? LostPerson.collection
            // Observe person "b" through the collection without a migration chain, because a referenced record is
            // stored as `LostPerson.collection` declares it.
            let watched = [(people, "a"), (LostPerson.collection, "b")].map { collection, id in
                ObservedSlot(collection.key(id), in: "people", mark: LostPerson(id, "mark"))
            }
            return Scene(
                destination: domain, watched: watched, prepare: { try await prepare($0.launch().router) },
                act: { try await act($0, LostPerson("a", friend: LostPerson("b"))) })
        }
    }

    /// A key of the legacy store whose value refers to a person.
    private static var holder: StorageKey<LostPerson> {
        StorageKey(name: "holder", domain: LostAnswerMachine.older, owner: "Tests", description: "Refers to a person")
    }

    static let references = [
        people("set stores a referenced record") { try await $0.set($1, in: LostPerson.collection) },
        people("set stores a referenced record in another store") { try await $0.set($1, for: holder) },
        people("update stores a referenced record") { router, person in
            try await router.update(LostPerson.collection.key("a")) { $0 = person }
        },
        people("batch stores a referenced record") { router, person in
            try await router.batch { try $0.set(person, in: LostPerson.collection) }
        },
        people("get converts and stores a referenced record", evolving: chain) { router in
            let old = StorageCollection<OldPerson>(
                "people", domain: LostPerson.place.get(), owner: "Tests", description: "People", typeTag: "LostPerson", id: \.id)
            try await router.set(OldPerson(id: "a", friend: OldPerson.Friend(id: "b")), in: old)
        } act: { router, _ in
            _ = try await router.get("a", in: LostPerson.collection.evolving(chain))
        },
    ]

    private static let chain = Evolution.from(version: 1).decoding(OldPerson.self)
        .to { LostPerson($0.id, friend: LostPerson($0.friend.id)) }

    // MARK: Plans

    /// Creates a case in which a plan migrates the collection "notes". A plan is a migration of whole collections, and
    /// calls them entities. Before the plan runs, "notes" has two records.
    /// - Parameters:
    ///   - older: Whether "notes" is in the legacy store at first, and not in the destination.
    ///   - to: The name of the collection that has the records after the plan; nil if the plan removes them.
    ///   - version: The schema version of that collection.
    ///   - keeps: Whether the program that runs the plan declares "notes" too, in addition to the collection `to`.
    ///   - chain: Returns the plan. Its argument is the domain (the kind of store) that "notes" is in at first.
    private static func plan(
        _ description: String, older: Bool = false, to: String?, version: Int = 1, keeps: Bool = false,
        chain: @escaping @Sendable (_ entity: StorageDomain) -> MigrationChain
    ) -> LostAnswerCase {
        LostAnswerCase(description: "a plan \(description)") { domain in
            let before = documents("notes", older ? LostAnswerMachine.older : domain)
            let after = to.map { documents($0, domain, version: version) }
            let collections = to == "notes" && !older ? [] : [before]
            let watched = (collections + [after].compactMap(\.self)).flatMap { collection in
                ["a", "b"].map { ObservedSlot(collection.key($0), in: collection.name, mark: document($0)) }
            }
            return Scene(
                destination: domain, watched: watched,
                prepare: { machine in
                    try await machine.launch().router.setEach(["a", "b"].map { oldDocument($0) }, in: before)
                },
                act: { router in
                    let keys = ([after ?? documents("other", domain)] + (keeps ? [before] : [])).map { AnyStorageKey.collection($0) }
                    try await router.registerCatalog(TestCatalog(keys, id: "plans"), migrationPolicy: .incremental(chain(before.domain)))
                })
        }
    }

    private static func first(_ domain: StorageDomain) -> ModelMigration {
        ModelMigration("V1") {
            AddEntity("notes", in: domain) {
                AddAttribute("id", attributeType: .string)
                AddAttribute("text", attributeType: .string)
            }
        }
    }

    static let plans = [
        plan("changes an entity", to: "notes", version: 2) { domain in
            MigrationChain {
                first(domain)
                ModelMigration("V2") { UpdateEntity("notes") { UpdateAttribute("text", to: "title") } }
            }
        },
        plan("copies an entity", to: "copies", keeps: true) { domain in
            MigrationChain {
                first(domain)
                ModelMigration("V2") { CopyEntity("notes", to: "copies") }
            }
        },
        plan("renames an entity", to: "others") { domain in
            MigrationChain {
                first(domain)
                ModelMigration("V2") { RenameEntity("notes", to: "others") }
            }
        },
        plan("renames an entity into another store", older: true, to: "others") { domain in
            MigrationChain {
                first(domain)
                ModelMigration("V2") { RenameEntity("notes", to: "others", in: domain) }
            }
        },
        plan("removes an entity", to: nil) { domain in
            MigrationChain {
                first(domain)
                ModelMigration("V2") { RemoveEntity("notes", in: domain) }
            }
        },
        plan("removes an entity without a backup", to: nil) { domain in
            MigrationChain {
                first(domain)
                ModelMigration("V2") { RemoveEntity("notes", in: domain, keepingBackup: false) }
            }
        },
    ]
}

/// Creates a document with an id. This function is outside of ``LostAnswerCase``, because there the name `record` means
/// a method of that type.
private func document(_ id: String) -> StoredDocument { record(id) }

/// Creates a document with an id and a text.
private func oldDocument(_ id: String) -> StoredDocument { record(id, ["text": "old"]) }
