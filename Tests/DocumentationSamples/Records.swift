import Foundation
import LocalData

func storing(_ note: Note, _ storage: StorageRouter) async throws {
    do {
        try await storage.set(note, in: notes, syncStatus: .notSynced, attributes: ["folder": "inbox"])
    } catch StorageError.incompatibleSchema {
        // A later release of the program has stored this note. It is unchanged.
    }
}

func storing(_ imported: [Note], _ storage: StorageRouter) async throws {
    do {
        try await storage.set(imported, in: notes)  // all notes in one commit
    } catch StorageError.unsupported {
        // A keyring cannot commit several records at once. The stored notes are unchanged.
        for note in imported { try await storage.set(note, in: notes) }
    }
}

func updating(_ id: Note.ID, _ storage: StorageRouter) async throws {
    let isFound = try await storage.update(id, in: notes) { note in
        note?.title = "Groceries"  // setting `note` to nil would remove the record
        return note != nil
    }
    print(isFound)
}

func reading(_ id: Note.ID, _ storage: StorageRouter) async throws {
    if let note = try await storage.value(id, in: notes) {
        show(note.title)
    } else {
        show("There is no such note.")  // a damaged note throws `corrupted` or `undecodable` instead
    }

    do {
        show(try await storage.get(id, in: notes).title)
    } catch StorageError.notFound {
        show("There is no such note.")
    }

    if let stored = try await storage.storedValue(id, in: notes), !stored.isExpired {
        print(stored.createdAt?.formatted() ?? "unknown", stored.attributes["folder"] ?? "no folder")
    }
}

func resolving(_ note: Note, _ author: StorageReference<Person>, _ storage: StorageRouter) async throws {
    do {
        let person = try await storage.resolve(author)
        show(person.name)
    } catch StorageError.notFound {
        show("The author was removed from the address book.")
    }

    let person = try await storage.resolve(note.author)  // nil for a note without an author, and for an author who was removed
    show(person?.name ?? "unknown")
}

func restoring(_ storage: StorageRouter) async throws {
    do {
        print("Restored \(try await storage.restoreBackups(in: notes)) notes")
    } catch let error as StorageError {
        warn(error.message)  // some notes may be restored: repeat the call to restore the others
    }

    do {
        try await storage.purgeBackups(in: notes)
    } catch let error as StorageError {
        warn(error.message)  // repeat the call to purge the remaining backups
    }
}

func removing(_ id: Note.ID, _ storage: StorageRouter) async throws {
    do {
        try await storage.remove(id, in: notes)  // succeeds too if there is no such note
    } catch StorageError.residueRemains {
        // The note is removed and never returns. A sweep deletes the older copy that remains.
        await storage.sweep()
    }
}

func batching(_ note: Note, _ id: Note.ID, _ storage: StorageRouter) async throws {
    try await storage.batch { changes in
        try changes.set(note, in: notes, syncStatus: .notSynced)
        changes.set(["EUR": 1.08], for: .rates)  // in the same database, so in the same commit
    }

    try await storage.batch { changes in
        changes.remove(id, in: notes)
        try changes.set(note, in: notes)
    }
}

func listing(_ storage: StorageRouter) async throws {
    do {
        for try await note in storage.records(in: notes, .attribute("folder", "inbox")) { show(note.title) }
    } catch StorageError.corrupted {
        // A damaged note has ended the list. To list the others, pass `onDamage: .skip` or `.report`.
    }

    for try await stored in storage.storedRecords(in: notes, .syncStatus(.notSynced)) {
        print(stored.id, stored.modifiedAt?.formatted() ?? "unknown", stored.syncStatus == .notSynced)
    }

    let waiting = try await storage.count(in: notes, .syncStatus(.notSynced))
    show("\(waiting) notes are not synchronized yet.")

    do {
        print(try await storage.names(of: .userDefaults(suite: "com.example.weather")))
        print(try await storage.names(of: editor.domain, collection: "notes", onDamage: .skip))
    } catch StorageError.unavailable {
        // The store cannot be read, so the names are unknown.
    }
}

func handlingDamage(_ storage: StorageRouter) async throws {
    let readable = storage.records(in: notes, onDamage: .report { record, reason in warn("\(record): \(reason.message)") })
    for try await note in readable { show(note.title) }

    do {
        for try await note in storage.records(in: notes, onDamage: .throw) { show(note.title) }
    } catch let error as StorageError where error.code == .corrupted {
        warn("The note \(error.keyName) is damaged, and the notes after it were not listed.")
    }

    for try await note in storage.records(in: notes, onDamage: .skip) { show(note.title) }
}

func salvaging(_ storage: StorageRouter) async throws {
    for try await note in storage.records(
        in: notes,
        onDamage: .report { record, reason in
            print(record.name ?? "a record without a name", record.handle, reason.code)
        })
    { show(note.title) }
}

func naming(_ handle: String) {
    guard let record = DamagedRecord(handle: handle, in: editor.domain) else {
        print("\(handle) is not a handle of a damaged record.")
        return
    }
    print(record)
}

func acceptingLoss(_ storage: StorageRouter, _ vaultKey: StorageKey<String>) async throws {
    do {
        signIn(with: try await storage.get(vaultKey))
    } catch StorageError.vanished {
        // The keyring was reset. The user has no backup of it and wants to begin again.
        try await storage.acknowledgeLoss(for: vaultKey)
        askForToken()
    }
}

func filtering(_ storage: StorageRouter, _ lastSync: Date) async throws {
    let filter = RecordFilter.attribute("folder", "inbox").and(.modified(since: lastSync))
    for try await note in storage.records(in: notes, filter) { show(note.title) }

    let total = try await storage.count(in: notes, .all)

    let waiting = try await storage.count(in: notes, .syncStatus(.notSynced))

    let inbox = try await storage.count(in: notes, .attribute("folder", "inbox"))

    let recent = try await storage.count(in: notes, .modified(since: lastSync))

    let recentInbox = try await storage.count(in: notes, .attribute("folder", "inbox").and(.modified(since: lastSync)))
    print(total, waiting, inbox, recent, recentInbox)
}

func synchronizing(_ note: Note, _ storage: StorageRouter, send: (Note) async throws -> Void) async throws {
    for try await note in storage.records(in: notes, .syncStatus(.notSynced)) {
        try await send(note)  // if it throws, the note stays `notSynced`
        try await storage.set(note, in: notes, syncStatus: .synced)
    }

    let rejected = SyncStatus(rawValue: "rejected")
    try await storage.set(note, in: notes, syncStatus: rejected)

    if try await storage.storedValue(note.id, in: notes)?.syncStatus == .synced { show("Up to date") }
}
