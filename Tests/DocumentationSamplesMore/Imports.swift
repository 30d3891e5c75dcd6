import Foundation
import LocalData
import LocalDataImporters

/// Samples of the values that other programs have stored. They are compiled, and not run.
enum ImportSamples {
    struct Profile: Codable, Sendable {
        var name: String
    }

    static func using(_ file: URL) async throws {
        var configuration = StorageConfiguration.xdg(applicationID: "com.example.editor", version: "2.0")
        configuration.useImport(.propertyList(at: file), named: "mac")
        let storage = StorageRouter(configuration: configuration)
        let title = StorageKey<String>(name: "title", domain: .userDefaults)
            .moved(from: StorageKey(name: "windowTitle", domain: .imported("mac")))
        do { print(try await storage.get(title)) } catch StorageError.corrupted {
            print("The file is damaged. It is unchanged, and nothing was stored.")
        }
    }

    static func propertyList() {
        let file = URL(filePath: "/home/kari/com.example.editor.plist")  // copied from ~/Library/Preferences on the Mac
        var configuration = StorageConfiguration.xdg(applicationID: "com.example.editor")
        configuration.useImport(.propertyList(at: file), named: "mac")  // a damaged file is an error of each read, not of this call
    }

    static func keyedArchive() {
        let file = URL(filePath: "/home/kari/profile.archive")
        var configuration = StorageConfiguration.xdg(applicationID: "com.example.editor")
        configuration.useImport(.keyedArchive(at: file), named: "archive")
        let profile = StorageKey<Profile>(name: "profile", domain: .userDefaults)
            .moved(from: StorageKey(name: "root", domain: .imported("archive")))
        _ = profile
    }

    static func keyringItems() async throws {
        var configuration = StorageConfiguration.xdg(applicationID: "com.example.mail")
        configuration.useImport(.keyringItems(["password": ["service": "mail", "username": "kari"]]), named: "python")
        let storage = StorageRouter(configuration: configuration)
        let password = StorageKey<String>(name: "password", domain: .keychain)
            .moved(from: StorageKey(name: "password", domain: .imported("python")))
        do { print(try await storage.get(password).count) } catch StorageError.ambiguous {
            print("Two items have these attributes. Name one more attribute.")
        }
    }

    static func domain(_ storage: StorageRouter) async throws {
        let old = StorageKey<String>(name: "windowTitle", domain: .imported("mac"))
        print(try await storage.value(for: old) ?? "not in the file, or already moved")
        do { try await storage.set("Notes", for: old) } catch StorageError.unsupported { print("An import is only read.") }
    }

    static func kind() {
        let domain = StorageDomain.imported("mac")
        if domain.kind == .imported { print("LocalData never changes these values.") }
    }

    static func archived(_ archivedProfile: StorageKey<Data>) {
        let profile = StorageKey<Profile>(name: "profile", domain: .userDefaults, owner: "User", description: "The profile")
            .moved(from: archivedProfile) { try KeyedArchive($0).decode() }  // if it throws, the archive stays unchanged
        _ = profile
    }

    static func reading(_ data: Data) {
        do {
            let archive = try KeyedArchive(data)
            print("The archive has the objects \(archive.values.keys.sorted()).")
        } catch StorageError.undecodable { print("The data is no keyed archive, or is damaged.") } catch {
            print(error.localizedDescription)  // unsupported: it has content that this version cannot read
        }
    }

    static func decoding(_ archive: KeyedArchive) throws {
        do {
            let profile = try archive.decode(Profile.self)
            print(profile.name)
        } catch StorageError.undecodable { print("The class has encoded other properties than `Profile` has.") }
    }
}
