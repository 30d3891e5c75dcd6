import LocalData

// MARK: A value of another type

struct NotANumber: Error {}

extension StorageKey where Value == String {
    static let intervalText = StorageKey(name: "intervalText", domain: .userDefaults)
}

extension StorageKey where Value == Int {
    static let interval = StorageKey(
        name: "interval", domain: .userDefaults, owner: "Weather", description: "Minutes between two updates",
        migration: { key in
            AnyStorageMigration(
                TransformingMigration(destinationKey: key, sourceKey: StorageKey<String>.intervalText) { text in
                    guard let minutes = Int(text) else { throw NotANumber() }
                    return minutes
                })
        })

    // The short form:
    static let shortInterval = StorageKey(name: "interval", domain: .userDefaults)
        .moved(from: StorageKey<String>.intervalText) { text in
            guard let minutes = Int(text) else { throw NotANumber() }
            return minutes
        }
}

// MARK: Several values become one

extension StorageKey where Value == String {
    static let firstName = StorageKey(name: "firstName", domain: .userDefaults)
    static let lastName = StorageKey(name: "lastName", domain: .userDefaults)

    static let observer = StorageKey(
        name: "observer", domain: .userDefaults, owner: "Weather", description: "The name that signs reports",
        migration: { key in
            AnyStorageMigration(
                AggregatingMigration(destinationKey: key, sourceKeys: StorageKey<String>.firstName, StorageKey<String>.lastName) {
                    (first: String?, last: String?) in
                    guard let first, let last else { return nil }  // wait until both values exist
                    return "\(first) \(last)"
                })
        })

    // The short form:
    static let shortObserver = StorageKey(name: "observer", domain: .userDefaults)
        .merged(
            from: StorageKey<String>.firstName, StorageKey<String>.lastName,
            by: { (first: String?, last: String?) in
                guard let first, let last else { return nil }
                return "\(first) \(last)"
            })
}

// MARK: A condition

extension StorageKey where Value == String {
    static let skin = StorageKey(name: "skin", domain: .userDefaults)

    static let theme = StorageKey(
        name: "theme", domain: .userDefaults, owner: "Weather", description: "The colours",
        migration: { key in
            let move = SimpleLegacyMigration(destinationKey: key, sourceKey: StorageKey<String>.skin)
            return AnyStorageMigration(ConditionalMigration(move, below: "2.0"))  // not after version 2.0 completed a sweep
        })

    static let sweptTheme = StorageKey(
        name: "theme", domain: .userDefaults,
        migration: { key in
            let move = SimpleLegacyMigration(destinationKey: key, sourceKey: StorageKey<String>.skin)
            return AnyStorageMigration(ConditionalMigration(move) { router, context in context.reason == .sweep })
        })
}

// MARK: Versions of a type

struct PlaceV1: Codable, Sendable { var name: String }

struct Place: Codable, Sendable, Equatable {
    var city: String
    var country: String
    var label: String
}

extension StorageKey where Value == Place {
    static let home: StorageKey<Place> = StorageKey(
        name: "home", domain: .userDefaults, owner: "Weather", description: "Where the user lives"
    )
    .evolving(
        Evolution.from(PlaceV1.self)  // version 1, and values without a version
            .to { old in  // version 2
                let parts = old.name.split(separator: "/").map(String.init)
                return ["city": parts.first ?? "", "country": parts.dropFirst().first ?? ""]
            }
            .to { document in  // version 3: no Swift type of version 2 is needed
                document["label"] = document["city"]
            })
}

// MARK: A release window

extension StorageKey where Value == String {
    static let oldLanguage = StorageKey(name: "lang", domain: .userDefaults)

    // Version 2 uses the new location and keeps the legacy location up to date until version 3.
    static let language = StorageKey(name: "language", domain: .userDefaults)
        .moved(from: .oldLanguage, keeping: .until(version: "3.0"))
}
