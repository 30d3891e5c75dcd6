import BackendRuntime
import Foundation
import LocalData

/// Executes commands on a router, the object through which a program uses its stores.
/// Each line of the standard input is a command, and is answered by one line.
/// Any number of lines that begin with `progress` may precede the answer.
/// Tests run several of these processes at the same time, and kill them.
///
/// The arguments are the root folder, the application id, and the `XDG_DATA_HOME` of the keyring daemon,
/// or `-` for none.
/// Two modes take further arguments and no commands: `leak` with a domain and a control text,
/// and `kit` with a file and a recovery key.
struct MigrationSession {
    let router: StorageRouter
    let service: String

    static func run(_ arguments: [String]) async {
        guard arguments.count >= 3 else { exitWithUsageError("missing arguments") }
        let service = arguments[1]
        var configuration = StorageConfiguration(root: URL(fileURLWithPath: arguments[0]), applicationID: service)
        configuration.userDefaultsName = "standard"
        if arguments[2] != "-" { configuration.runtime.host.environment["XDG_DATA_HOME"] = arguments[2] }
        let environment = ProcessInfo.processInfo.environment
        let deadline = environment["WORKER_KEYRING_DEADLINE"].flatMap(Int.init) ?? 60_000
        configuration.deadlines.keychain = .milliseconds(deadline)
        configuration.allowsUnencryptedKeychainTransport = environment["WORKER_PLAIN_TRANSPORT"] != nil
        configuration.databaseKeySources = [
            "credential": .credential("store-key"), "passphrase": .passphrase(), "ringed": .keychain,
        ]
        configuration.passphrase = { _ in environment["WORKER_PASSPHRASE"] }
        // Deriving a key from a passphrase takes seconds in a build without optimization.
        configuration.deadlines.files = .milliseconds(environment["WORKER_FILES_DEADLINE"].flatMap(Int.init) ?? 120_000)
        configuration.runtime.isPatient = true
        // The environment can select a sealed vault, encrypted databases that the router uses instead of the keyring.
        switch environment["WORKER_VAULT"] {
        case nil: break
        case "credential": configuration.keychain = .sealedVault(.credential("store-key"))
        case "passphrase": configuration.keychain = .sealedVault(.passphrase())
        case let file?: configuration.keychain = .sealedVault(.keyFile(file))
        }
        if arguments.count > 5, arguments[3] == "leak" {
            return await leak(configuration, service, place: arguments[4], control: arguments[5])
        }
        if arguments.count > 5, arguments[3] == "kit" { return await keep(configuration, arguments[4], key: arguments[5]) }
        let worker = MigrationSession(router: StorageRouter(configuration: configuration), service: service)
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            guard let command = words.first else {
                Progress.shared.wasRead()
                continue
            }
            writeLine(await worker.answer(command, Array(words.dropFirst())))
        }
    }

    func answer(_ command: String, _ words: [String]) async -> String {
        do {
            switch command {
            case "seed":
                try await router.set(words[1], for: legacyToken(words[0]))
                return "done"
            case "foundation":
                // An old program uses Foundation's `UserDefaults`, under XDG_CONFIG_HOME.
                return UserDefaultsCommand.setDefault("standard", words[0], words[1]) ? "done" : "not synchronized"
            case "get": return "value \(try await router.get(modernToken))"
            case "set":
                try await router.set(words[0], for: modernToken)
                return "done"
            case "read": return "value \(try await router.value(for: plain(words[0], words[1])) ?? "none")"
            case "write":
                try await router.set(words[2], for: plain(words[0], words[1]))
                return "done"
            case "seal":
                try await router.set(words[1], for: sealed(words[0]))
                return "done"
            case "look": return "value \(try await router.value(for: anywhere(words[0], words[1])) ?? "none")"
            case "put":
                try await router.set(words[2], for: anywhere(words[0], words[1]))
                return "done"
            case "walk": return try await WalkedKeys.answer(words, on: router)
            case "forget":
                try await router.forget(anywhere(words[0], "").domain)
                return "done"
            case "batches":
                return try await batches(
                    Int(words[0]) ?? 0, tag: words.dropFirst().first ?? "", rounds: words.dropFirst(2).first.flatMap(Int.init))
            case "status": return "\(await router.status(of: .keychain(service: service)))"
            case "increment":
                let domain = words.count > 1 ? anywhere(words[1], "counter").domain : .userDefaults
                let counter = StorageKey<Int>(name: "counter", domain: domain, owner: "Worker", description: "A counter")
                for _ in 0..<(Int(words[0]) ?? 1) { try await router.update(counter, default: 0) { $0 += 1 } }
                return "done"
            case "register":
                try await router.registerCatalog(
                    ManyKeys(
                        count: Int(words[0]) ?? 0, isReversed: words.contains("reversed"),
                        destination: words.contains("database") ? .encryptedSQLite(database: "many") : .userDefaults(suite: "modern")))
                return "done"
            case "sweep": return try await sweep()
            case "launch": return await launch()
            default:
                if let answer = try await ReleaseWork(router: router).answer(command, words) { return answer }
                let answer = try await RecordWork(router: router).answer(command, words.first.flatMap(Int.init) ?? 0)
                return answer ?? "unknown command"
            }
        } catch {
            return "error \(error)"
        }
    }

    func legacyToken(_ name: String) -> StorageKey<String> {
        StorageKey(name: name, domain: .userDefaults, security: .none, owner: "Worker", description: "The old token")
    }

    func plain(_ suite: String, _ name: String) -> StorageKey<String> {
        StorageKey(name: name, domain: .userDefaults(suite: suite), owner: "Worker", description: "A plain value")
    }

    /// A key in `keychain`, `suite:<name>` or `database:<name>`.
    func anywhere(_ place: String, _ name: String) -> StorageKey<String> {
        let parts = place.split(separator: ":").map(String.init)
        let domain: StorageDomain =
            switch parts[0] {
            case "suite": .userDefaults(suite: parts[1])
            case "database": .encryptedSQLite(database: parts[1])
            default: .keychain(service: service)
            }
        return StorageKey(name: name, domain: domain, owner: "Worker", description: "A value")
    }

    func sealed(_ name: String) -> StorageKey<String> {
        StorageKey(name: name, domain: .userDefaults(suite: "sealed"), security: .encrypted, owner: "Worker", description: "A sealed value")
    }

    var modernToken: StorageKey<String> {
        StorageKey(name: "modern_token", domain: .keychain(service: service), owner: "Worker", description: "The token").moved(
            from: legacyToken("old_key_name"))
    }

    private func launch() async -> String {
        let report = await router.sweep(OneToken(token: modernToken))
        let counts = "moved \(report.moved.count) blocked \(report.blocked.count) failed \(report.failed.count)"
        do {
            try report.requireComplete()
            return "\(counts) complete yes"
        } catch {
            return "\(counts) complete no: \((error as? StorageError)?.code.name ?? "?")"
        }
    }

    /// In each round, writes one text with the number of the round into many values of a database, as one batch.
    /// Without a number of rounds it runs until the process is killed.
    private func batches(_ count: Int, tag: String, rounds: Int?) async throws -> String {
        for round in 1...(rounds ?? .max) {
            try await router.batch { batch in
                for index in 0..<count { batch.set("\(tag)\(round)", for: anywhere("database:batches", "\(index)")) }
            }
            Progress.shared.say("\(round)")
        }
        return "done"
    }

    private func sweep() async throws -> String {
        let sweep = await router.sweep { progress in
            Progress.shared.say("\(progress.moved) of \(progress.total)")
        }
        try sweep.requireComplete()
        return "moved \(sweep.rows.filter { $0.state == .moved }.count)"
    }
}

/// A catalog, the list of keys of a program, that has only the token.
struct OneToken: StorageKeyCatalog {
    let token: StorageKey<String>
    var allKeys: [AnyStorageKey] { [.key(token)] }
}

/// A catalog of many values that move from one property list to a destination.
struct ManyKeys: StorageKeyCatalog {
    let count: Int
    /// Whether the last key comes first, so that two processes can begin at opposite ends.
    let isReversed: Bool
    let destination: StorageDomain

    func key(_ index: Int) -> StorageKey<String> {
        let old = StorageKey<String>(
            name: "old-\(index)", domain: .userDefaults(suite: "legacy"), owner: "Worker", description: "An old value")
        return StorageKey<String>(name: "key-\(index)", domain: destination, owner: "Worker", description: "A value").moved(from: old)
    }

    var allKeys: [AnyStorageKey] { (0..<count).map { .key(key(isReversed ? count - 1 - $0 : $0)) } }
}
