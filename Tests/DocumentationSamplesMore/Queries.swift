import Foundation
import LocalData
import LocalDataQueries

/// Samples of the queries. They are compiled, and not run.
enum QuerySamples {
    struct Note: Codable, Sendable, Identifiable {
        var id: String
        var title: String
        var tag: String
        var isDone: Bool
        var date: Date
        var due: Date?
        var text: String
    }

    enum Status: String, Codable, AttributeValue { case open, done }

    struct Place: Codable, AttributeValue {
        var row: Int
        var column: Int
        var attributeText: String? { "\(row),\(column)" }  // never change it: it is stored with the records
    }

    static let editor = StorageKeyGroup(owner: "Editor", domain: .encryptedSQLite(database: "documents"))
    static let notes: StorageCollection<Note> = editor.collection("notes", "The user's notes").attribute("tag", \.tag)

    static func attribute(_ storage: StorageRouter, _ note: Note) async throws {
        let notes: StorageCollection<Note> = editor.collection("notes", "The user's notes").attribute("tag", \.tag)
        try await storage.set(note, in: notes)  // stores the attribute with the note
        let work = try await storage.records(in: notes, where: \.tag == "work")  // after a sweep, reads only these notes
        let drafts: StorageCollection<Note> = editor.collection("drafts").attribute("syncStatus", \.tag)
        do { try await storage.set(note, in: drafts) } catch StorageError.unsupported { print("Give the attribute another name.") }
        _ = work
    }

    // MARK: Conditions

    static func predicate(_ storage: StorageRouter) async throws {
        let open = \Note.tag == "work" && !(\Note.isDone == true)
        let long = RecordPredicate<Note>.matching { $0.text.count > 1_000 }
        do { print(try await storage.count(in: notes, where: open || long)) } catch StorageError.corrupted {
            print("A damaged note cannot be checked. Pass `onDamage: .skip` to leave it out.")
        }
    }

    static func all(_ storage: StorageRouter) async throws {
        let newest = try await storage.records(in: notes, where: .all, orderedBy: .descending(\.date), limit: 10)
        _ = newest
    }

    static func matching(_ storage: StorageRouter) async throws {
        let long = try await storage.records(in: notes, where: .matching { $0.text.count > 1_000 })  // reads every note
        _ = long
    }

    static func matches(_ note: Note) {
        let isOpenWork = \Note.tag == "work" && \Note.isDone == false
        print(isOpenWork.matches(note) ? "The note is in the list." : "The note is not in the list.")  // reads no store
    }

    static func and(_ storage: StorageRouter, _ day: Date) async throws {
        let recent = try await storage.records(in: notes, where: \.tag == "work" && \.date >= day)  // reads the notes with the tag
        _ = recent
    }

    static func or(_ storage: StorageRouter) async throws {
        let either = try await storage.records(in: notes, where: \.tag == "work" || \.tag == "home")  // reads every note
        _ = either
    }

    static func not(_ storage: StorageRouter) async throws {
        let others = try await storage.records(in: notes, where: !(\Note.tag == "work"))  // reads every note
        _ = others
    }

    static func equal(_ storage: StorageRouter) async throws {
        let work = try await storage.records(in: notes, where: \.tag == "work")  // the attribute is declared: reads these notes
        let done = try await storage.records(in: notes, where: \.isDone == true)  // no attribute: reads every note
        _ = (work, done)
    }

    static func different(_ storage: StorageRouter) async throws {
        let others = try await storage.records(in: notes, where: \.tag != "work")  // reads every note
        _ = others
    }

    static func less(_ storage: StorageRouter, _ day: Date) async throws {
        let earlier = try await storage.records(in: notes, where: \.date < day)
        _ = earlier
    }

    static func atMost(_ storage: StorageRouter, _ day: Date) async throws {
        let until = try await storage.records(in: notes, where: \.date <= day)
        _ = until
    }

    static func greater(_ storage: StorageRouter, _ day: Date) async throws {
        let later = try await storage.records(in: notes, where: \.date > day)
        _ = later
    }

    static func atLeast(_ storage: StorageRouter, _ day: Date) async throws {
        let since = try await storage.records(in: notes, where: \.date >= day)
        _ = since
    }

    static func optionalLess(_ storage: StorageRouter, _ today: Date) async throws {
        let late = try await storage.records(in: notes, where: \.due < today)  // no note without a due date
        _ = late
    }

    static func optionalAtMost(_ storage: StorageRouter, _ today: Date) async throws {
        let now = try await storage.records(in: notes, where: \.due <= today)  // no note without a due date
        _ = now
    }

    static func optionalGreater(_ storage: StorageRouter, _ today: Date) async throws {
        let later = try await storage.records(in: notes, where: \.due > today)  // no note without a due date
        _ = later
    }

    static func optionalAtLeast(_ storage: StorageRouter, _ today: Date) async throws {
        let pending = try await storage.records(in: notes, where: \.due >= today)  // no note without a due date
        _ = pending
    }

    // MARK: Orders

    static func order(_ storage: StorageRouter) async throws {
        let order = RecordOrder<Note>.descending(\.date).then(.ascending(\.title))
        let newest = try await storage.first(in: notes, where: \.tag == "work", orderedBy: order)
        _ = newest
    }

    static func ascending(_ storage: StorageRouter) async throws {
        let oldest = try await storage.records(in: notes, where: .all, orderedBy: .ascending(\.date), limit: 10)
        _ = oldest
    }

    static func descending(_ storage: StorageRouter) async throws {
        let newest = try await storage.records(in: notes, where: .all, orderedBy: .descending(\.date), limit: 10)
        _ = newest
    }

    static func optionalAscending(_ storage: StorageRouter) async throws {
        let byDueDate = try await storage.records(in: notes, where: .all, orderedBy: .ascending(\.due))  // first those without one
        _ = byDueDate
    }

    static func optionalDescending(_ storage: StorageRouter) async throws {
        let byDueDate = try await storage.records(in: notes, where: .all, orderedBy: .descending(\.due))  // last those without one
        _ = byDueDate
    }

    static func then(_ storage: StorageRouter) async throws {
        let order = RecordOrder<Note>.ascending(\.tag).then(.descending(\.date))
        for note in try await storage.records(in: notes, where: .all, orderedBy: order) { print(note.tag, note.title) }
    }

    // MARK: Reading

    static func query(_ storage: StorageRouter) async throws {
        let query = RecordQuery(in: notes, where: \.tag == "work", orderedBy: .descending(\.date), limit: 20)
        do { print(try await storage.records(query).map(\.title)) } catch StorageError.locked {
            print("The key of the database is locked, so the notes are unknown. Call `unlock`.")
        }
    }

    static func records(_ storage: StorageRouter) async throws {
        do {
            let work = try await storage.records(in: notes, where: \.tag == "work", orderedBy: .descending(\.date), limit: 50)
            print(work.map(\.title))
        } catch StorageError.corrupted { print("A note is damaged. Pass `onDamage: .skip` to leave it out.") }
    }

    static func pages(_ storage: StorageRouter) async throws {
        do {
            var cursor: QueryCursor?
            repeat {
                let page = try await storage.page(in: notes, where: \.tag == "work", size: 50, after: cursor)
                for note in page.records { print(note.title) }
                cursor = page.cursor
            } while cursor != nil
        } catch StorageError.unsupported { print("The cursor is no longer valid. Begin with the first page.") }
    }

    static func onePage(_ storage: StorageRouter) async throws {
        let page = try await storage.page(in: notes, where: .all, orderedBy: .ascending(\.title), size: 50)
        for note in page.records { print(note.title) }
        print(page.cursor == nil ? "This is the last page." : "There may be more notes.")
    }

    static func cursor(_ storage: StorageRouter, _ text: String) async throws {
        let cursor = QueryCursor(bytes: Array(Data(base64Encoded: text) ?? Data()))  // from a client that got Data(cursor.bytes)
        do {
            print(try await storage.page(in: notes, where: \.tag == "work", size: 50, after: cursor).records.count)
        } catch StorageError.unsupported { print("The cursor is not valid. Send the first page.") }
    }

    static func count(_ storage: StorageRouter) async throws {
        do {
            print(try await storage.count(in: notes, where: \.tag == "work"))  // a stored count, if the attribute is declared
            print(try await storage.count(in: notes, where: \.isDone == true))  // reads every note
        } catch StorageError.corrupted { print("A damaged note cannot be checked, so the number is unknown.") }
    }

    static func first(_ storage: StorageRouter) async throws {
        do {
            let next = try await storage.first(in: notes, where: \.isDone == false, orderedBy: .ascending(\.date))
            print(next?.title ?? "Nothing is left to do.")
        } catch StorageError.corrupted { print("A damaged note may be the first one.") }
    }

    static func exists(_ storage: StorageRouter) async throws {
        do {
            if try await storage.exists(in: notes, where: \.tag == "work") { print("Some notes have the tag.") }
        } catch StorageError.locked { print("It is unknown whether a note has the tag.") }
    }

    // MARK: Removing

    static func removing(_ storage: StorageRouter, _ day: Date) async throws {
        do {
            let count = try await storage.removeAll(in: notes, where: \.isDone == true && \.date < day)
            print("\(count) notes were removed.")
        } catch StorageError.corrupted { print("A damaged note was not removed. Others may be removed already.") }
    }

    static func clearing(_ storage: StorageRouter) async throws {
        do { try await storage.clear(notes) } catch StorageError.corrupted { print("Damaged notes remain. The others were removed.") }
    }
}
