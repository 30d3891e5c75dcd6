import Foundation
import LocalData

/// Version 1 of a program, linked against an earlier build of this library.
/// It has no code for later formats, and writes the formats of that build.
///
/// The argument is the folder of its stores. Each line of standard input is a command, and is answered by one line:
/// `set NAME JSON`, `get NAME`, `remove NAME`. A name `COLLECTION/ID` is that of a record.
/// `get people` answers with all records of that collection.
@main
struct OldProgram {
    struct Note: Codable, Sendable { var title: String }
    struct Person: Codable, Sendable, Identifiable { var id: String, name: String }

    static func main() async throws {
        let router = StorageRouter(
            configuration: StorageConfiguration(root: URL(filePath: CommandLine.arguments[1]), applicationID: "old.build"))
        while let line = readLine() {
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            print(await answer(words, router))
            fflush(nil)
        }
        try await router.shutdown()
    }

    private static func answer(_ words: [String], _ router: StorageRouter) async -> String {
        guard words.count >= 2 else { return "unknown command" }
        let json = words.count == 3 ? Data(words[2].utf8) : nil
        do {
            switch words[1] {
            case "flag": return try await work(words[0], key("flag", .userDefaults(suite: "app"), Bool.self), json, router)
            case "token": return try await work(words[0], key("token", .encryptedSQLite(database: "main"), String.self), json, router)
            case "note": return try await work(words[0], key("note", .encryptedSQLite(database: "main"), Note.self), json, router)
            case "picture": return try await work(words[0], key("picture", .encryptedSQLite(database: "main"), Data.self), json, router)
            case "people", "members": return try await all(words[1], router)
            case let name where name.contains("/"):
                let parts = name.split(separator: "/").map(String.init)
                return try await work(words[0], collection(parts[0]).key(for: parts[1]), json, router)
            default: return "unknown name"
            }
        } catch let error as StorageError { return "error \(error.code)" } catch { return "error \(error)" }
    }

    private static func key<Value>(_ name: String, _ domain: StorageDomain, _ type: Value.Type) -> StorageKey<Value> {
        StorageKey(name: name, domain: domain, owner: "OldProgram", description: "A value")
    }

    private static func collection(_ name: String) -> StorageCollection<Person> {
        let domain: StorageDomain = name == "people" ? .userDefaults(suite: "app") : .encryptedSQLite(database: "old")
        return StorageCollection(name, domain: domain, owner: "OldProgram", description: "Persons")
    }

    private static func all(_ name: String, _ router: StorageRouter) async throws -> String {
        var found: [String] = []
        for try await entry in router.records(in: collection(name)) {
            // Some builds of the library return the records themselves.
            // Others return entries, which contain a record each.
            let person = (entry as Any) as? Person ?? Mirror(reflecting: entry).children.first?.value as? Person
            if let person { found.append("\(person.id) is \(person.name)") }
        }
        return found.sorted().joined(separator: ", ")
    }

    private static func work<Value>(_ verb: String, _ key: StorageKey<Value>, _ json: Data?, _ router: StorageRouter) async throws -> String
    {
        switch (verb, json) {
        case ("set", let json?):
            try await router.set(try JSONDecoder().decode(Value.self, from: json), for: key)
            return "done"
        case ("get", nil):
            guard let value = try await router.value(for: key) else { return "absent" }
            return String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
        case ("remove", nil):
            try await router.remove(key)
            return "done"
        default: return "unknown command"
        }
    }
}
