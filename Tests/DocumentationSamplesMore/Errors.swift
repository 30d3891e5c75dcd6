import Foundation
import LocalData

/// Samples of errors. They are compiled, and not run.
enum ErrorSamples {
    static func handling(_ storage: StorageRouter) async {
        do {
            print(try await storage.get(.apiToken))
        } catch StorageError.notFound {
            print("There is no token yet.")
        } catch let error as StorageError where error.code == .locked || error.code == .promptDismissed {
            print("Continue without the token. Try again after the user has unlocked the keyring.")
        } catch {
            print(error.localizedDescription)  // a sentence for users, with the next step; it contains no value
        }
    }

    static func code() throws {
        let rateLimited = StorageError.Code("com.example.rateLimited")  // a code of the program, for its key source or migration
        do { throw StorageError(rateLimited, key: "payments", "The key service is busy. Try again in a minute.") } catch rateLimited {
            print("wait")
        }
    }

    static func unknown(_ storage: StorageRouter) async throws {
        do { try await storage.set("Graz", for: .city) } catch let error as StorageError where error.outcome == .unknown {
            guard try await storage.value(for: .city) != "Graz" else { return }  // the change was applied
            try await storage.set("Graz", for: .city)
        }
    }

    static func vanished(_ storage: StorageRouter) async throws {
        let token = StorageKey<String>.apiToken.witnessed()
        do { print(try await storage.get(token)) } catch StorageError.vanished {
            print("The keyring was reset. Ask the user to log in again.")
            try await storage.acknowledgeLoss(for: token)  // from now on, the value counts as absent
        }
    }

    static func undecodable(_ storage: StorageRouter) async throws {
        let interval: StorageKey<Int> = settings.key("interval", "Minutes between updates")
        do { print(try await storage.get(interval)) } catch StorageError.undecodable {
            let stored: StorageKey<StoredDocument> = settings.key("interval", "Minutes between updates")
            print(try await storage.get(stored).root)  // the stored content, whatever its type is
        }
    }

    static func locked(_ storage: StorageRouter) async throws {
        do { print(try await storage.get(.apiToken)) } catch StorageError.locked {
            try await storage.unlock(.keychain)  // may open a prompt; throws promptDismissed if the user declines
            print(try await storage.get(.apiToken))
        }
    }

    static func residue(_ storage: StorageRouter) async throws {
        do { try await storage.remove(.city) } catch StorageError.residueRemains {
            await storage.sweep()  // the value is removed; the sweep deletes the older copy
        }
    }

    static func noSpace(_ storage: StorageRouter) async throws {
        do { try await storage.set("Graz", for: .city) } catch StorageError.noSpace {
            print("Free some space. The stored city is still \(try await storage.get(.city)).")
        }
    }

    static func cancelled(_ storage: StorageRouter) async {
        let work = Task { try await storage.set("Graz", for: .city) }
        work.cancel()
        do { try await work.value } catch let error as StorageError where error.code == .cancelled {
            print(error.outcome == .notApplied ? "Nothing was changed." : "Read the value before you retry.")
        } catch is CancellationError { print("Nothing was changed.") } catch { print(error.localizedDescription) }
    }

    static func reported(_ report: MigrationReport) {
        let options = MigrationOptions(whenSourceUnavailable: .skip)  // a source that cannot be reached counts as absent
        for row in report.rows where row.protectionBefore.map({ $0 > row.protection }) == true {
            print("\(row.key) had better protection in \(row.from)")
        }
        print(options)
    }

    static func bootstrap() {
        do { try StorageRouter.bootstrap(.xdg(applicationID: "com.example.weather")) } catch StorageError.alreadyBootstrapped {
            print("Call bootstrap earlier: StorageRouter.shared was used before.")
        } catch { print(error.localizedDescription) }
    }
}
