import Foundation
import LocalData

func registering(_ storage: StorageRouter) async throws {
    do {
        let report = try await storage.registerCatalog(AppKeys(), migrateImmediately: true)
        for row in report.blocked + report.failed { warn("\(row.key): \(row.message ?? "no message")") }
    } catch let error as StorageError {
        for problem in error.catalogProblems { print(problem) }  // the catalog was refused, so none of its keys was registered
    }

    let report = await storage.sweep { progress in print("\(progress.finished) of \(progress.total) keys") }
    do {
        try report.requireComplete()
    } catch StorageError.locked {
        // Sweep again once the keyring is unlocked. The values that wait for it are in their previous locations.
    }
}

func locking(_ storage: StorageRouter) async throws {
    let hasEnded = try await storage.lock(waitingAtMost: .seconds(5))  // the session was locked
    if !hasEnded { warn("A change was interrupted. The next sweep completes it.") }
    do {
        signIn(with: try await storage.get(.apiToken))
    } catch StorageError.locked {
        try await storage.unlock()
    }

    do {
        try await storage.unlock(.keychain)
    } catch StorageError.promptDismissed {
        show("The keyring stays locked.")
    } catch StorageError.locked {
        show("Log in to the desktop to unlock the keyring: this process can show no prompt.")
    }
}

func closing(_ storage: StorageRouter) async throws {
    if case .locked = await storage.status(of: .keychain) { show("Unlock your keyring to sign in.") }

    switch await storage.status(of: .keychain) {
    case .ready: show("Ready")
    case .locked: show("Unlock your keyring to sign in.")
    case .absent: show("There is no keyring yet.")
    case .unavailable(let error): warn(error.message)
    }

    do {
        try await storage.shutdown(waitingAtMost: .seconds(5))
    } catch StorageError.timedOut {
        warn("A disk does not respond. All acknowledged changes are durable.")
    }
}

func forgetting(_ storage: StorageRouter) async throws {
    try await storage.registerCatalog(AppKeys())  // so that older copies in other domains are removed too
    do {
        try await storage.forget(.encryptedSQLite(database: "editor"))  // the user logs out
    } catch StorageError.timedOut {
        warn("Another program uses the database. Close it, and log out again.")
    }

    do {
        try await storage.forgetEverything()  // the program is uninstalled
    } catch let error as StorageError {
        warn(error.message)  // repeat the call: it continues where it has stopped
    }
}

// MARK: Blocking storage

func blocking(_ router: StorageRouter) throws {
    let storage = BlockingStorage(router)
    do {
        try storage.set("abc", for: .apiToken)
    } catch StorageError.unsupported {
        // The call came from a task. Call the router with `await` there.
    }

    let impatient = BlockingStorage(router, deadline: .seconds(2))

    do {
        signIn(with: try storage.get(.apiToken))
    } catch StorageError.notFound {
        askForToken()
    } catch StorageError.timedOut {
        warn("The keyring does not respond.")
    }

    let title = try storage.value(for: .title) ?? "Untitled"

    do {
        try storage.set("Weather", for: .title)
    } catch let error as StorageError where error.outcome == .unknown {
        print("The title is \(try storage.value(for: .title) ?? "unset")")  // it may be stored: read it before a retry
    }

    do {
        try storage.remove(.title)
    } catch StorageError.residueRemains {
        warn("The title is removed. An older copy remains, and a sweep deletes it.")
    }

    let accounts = try storage.keys(of: .keychain(service: "com.example.mail"))
    let ids = try storage.keys(of: editor.domain, collection: "notes")
    print(impatient, title, accounts, ids)
}
