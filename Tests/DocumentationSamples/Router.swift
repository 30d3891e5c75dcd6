import Foundation
import LocalData

func opening() async throws {
    let storage = StorageRouter(configuration: .xdg(applicationID: "com.example.notes"))
    do {
        let width = try await storage.get(.width)  // 800, the key's default
        try await storage.set(width + 100, for: .width)  // durable when it returns
    } catch StorageError.noSpace {
        // The disk is full. The stored value is unchanged.
    }
}

func creating() async {
    let storage = StorageRouter(configuration: .service(applicationID: "com.example.shop", version: "2.0"))
    print(await storage.status(of: .userDefaults))  // the first use of a store opens it
}

func getting(_ storage: StorageRouter) async throws {
    do {
        signIn(with: try await storage.get(.apiToken))
    } catch StorageError.notFound {
        askForToken()  // it is proven that no store has a token
    } catch StorageError.locked {
        try await storage.unlock(.keychain)  // may open a prompt; then get the token again
    }
}

func gettingNil(_ storage: StorageRouter) async throws {
    if let token = try await storage.value(for: .apiToken) {
        signIn(with: token)
    } else {
        askForToken()  // only if the token is proven to be absent: a locked keyring throws `locked`
    }
}

func setting(_ storage: StorageRouter) async throws {
    do {
        try await storage.set("abc", for: .apiToken)
        try await storage.set("123456", for: .oneTimeCode, lifetime: .seconds(300))
    } catch StorageError.incompatibleSchema {
        // A later release of the program has stored this value. It is unchanged.
    } catch let error as StorageError where error.outcome == .unknown {
        // The store's answer was lost. Read the value before you store it again.
    }
}

func readingStale(_ storage: StorageRouter) async throws {
    if let stored = try await storage.storedValue(for: .rates), stored.isExpired {
        // The server cannot be reached, so show the rates of yesterday with their date.
        show("\(stored.value["EUR", default: 1]) of \(stored.modifiedAt?.formatted() ?? "an unknown date")")
    }
}

func restoring(_ storage: StorageRouter, _ person: StorageKey<Person>) async throws {
    // Version 3 of the program had a faulty chain. Restore the bytes of version 2, and start version 2 again.
    if try await storage.restoreBackup(for: person, version: 2) == nil {
        print("The value has no backup of version 2. It is unchanged.")
    }
}

func updating(_ storage: StorageRouter) async throws {
    struct NotEnough: Error {}
    do {
        try await storage.update(.credit) { credit in
            guard let present = credit, present >= 5 else { throw NotEnough() }
            credit = present - 5
        }
    } catch is NotEnough {
        print("The credit is unchanged.")
    }
}

func counting(_ storage: StorageRouter) async throws {
    do {
        let launches = try await storage.update(.launches, default: 0) { count in
            count += 1
            return count
        }
        print("Start number \(launches)")
    } catch StorageError.conflict {
        // Other processes changed the value during all 64 attempts. Try again later.
    }
}

func purgingBackups(_ storage: StorageRouter, _ person: StorageKey<Person>) async throws {
    do {
        try await storage.purgeBackups(for: person)  // no one will start version 2 again
    } catch StorageError.locked {
        // The store is locked. Repeat the call once it is unlocked.
    }
}

func removing(_ storage: StorageRouter) async throws {
    do {
        try await storage.remove(.apiToken)
    } catch StorageError.residueRemains {
        // The token is removed and never returns. A sweep deletes the older copy that remains.
        await storage.sweep()
    }
}

func asking(_ storage: StorageRouter) async throws {
    do {
        if try await storage.exists(.apiToken) { show("Signed in") }
    } catch StorageError.unavailable {
        show("The keyring cannot be reached, so it is unknown whether there is a token.")
    }
}

func following(_ storage: StorageRouter) async throws {
    do {
        for try await title in storage.values(for: .title) { show(title ?? "Untitled") }
        // The router was shut down.
    } catch let error as StorageError {
        warn(error.message)  // a read failed, and the sequence is over: begin another one
    }
}

func changingTogether(_ storage: StorageRouter) async throws {
    do {
        try await storage.batch { changes in
            changes.set(800, for: .width)
            changes.set("Weather", for: .title)
            changes.remove(.legacyTitle)
        }
    } catch StorageError.unsupported {
        // The keys are in several stores, or their store cannot commit them together. All values are unchanged.
    }
}

// MARK: The shared router

func sharing() async throws {
    try await StorageRouter.shared.set(900, for: .width)
    let width = try await StorageRouter.shared.get(.width)  // 900
    print(width)
}

func bootstrapping() {
    do {
        try StorageRouter.bootstrap(.xdg(applicationID: "com.example.notes", version: "2.0"))
    } catch {
        preconditionFailure("alreadyBootstrapped: StorageRouter.shared was used before this line.")
    }
}

func replacing() async throws {
    try await StorageRouter.$override.withValue(StorageRouter(configuration: .inMemory())) {
        try await StorageRouter.shared.set(640, for: .width)  // in memory, and only for this task and its child tasks
    }
}
