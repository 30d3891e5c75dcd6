import Foundation
public import LocalData
import LocalDataObservation
import LocalDataQueries
public import Observation

/// The content of the window, without its widgets: a list of notes, and a note in the editor.
@MainActor @Observable
public final class NotesModel {
    private let storage: StorageRouter
    /// The notes with the tag of the filter, the latest one first. They follow the changes of all processes.
    private var list: StoredRecords<Note>
    /// The tag of the notes in the list; nil for all notes.
    public private(set) var tag: String?
    /// The note in the editor, with the changes of the user; nil if the editor is empty.
    public private(set) var draft: Note?
    /// The stored note that the changes in the editor are based on; nil for a new note.
    private var base: Note?
    /// A change by another process that ``save()`` has reported, and that the next ``save()`` replaces.
    private var conflict: Changed?
    /// The result of the user's last action.
    private var result = ""
    /// Whether the prompt of the keyring is open.
    public private(set) var isUnlocking = false

    /// Creates the content of a window.
    public init(_ storage: StorageRouter) {
        self.storage = storage
        list = Self.records(nil, storage)
    }

    private static func records(_ tag: String?, _ storage: StorageRouter) -> StoredRecords<Note> {
        let condition = tag.map { \Note.tag == $0 } ?? .all
        return StoredRecords(
            RecordQuery(in: Note.collection, where: condition, orderedBy: .descending(\.date), limit: 200), in: storage)
    }

    /// The notes of the list; none while they are locked.
    public var notes: [Note] { isLocked ? [] : list.records }

    /// Whether the notes cannot be read until the keyring is unlocked.
    public var isLocked: Bool { if case .locked = list.state { true } else { false } }

    /// Whether the notes of a new filter have not been read yet.
    public var isLoading: Bool { if case .loading = list.state { true } else { false } }

    /// A message for the user: why the list cannot be read, or the result of the user's last action.
    public var message: String { if case .failed(let error) = list.state { error.message } else { result } }

    /// Shows only the notes with a tag; nil for all notes.
    public func filter(by tag: String?) {
        guard tag != self.tag else { return }
        self.tag = tag
        list = Self.records(tag, storage)
    }

    // MARK: The editor

    /// Stores the changes in the editor, and opens a note of the list. If the changes cannot be stored, they stay in the
    /// editor.
    public func open(_ id: String) async {
        guard id != draft?.id, await saveChanges(), let note = notes.first(where: { $0.id == id }) else { return }
        (draft, base, conflict, result) = (note, note, nil, "")
    }

    /// Stores the changes in the editor, and begins a new note. If the changes cannot be stored, they stay in the editor.
    public func begin() async {
        guard await saveChanges() else { return }
        (draft, base, conflict, result) = (Note(tag: tag ?? Note.tags[0]), nil, nil, "")
    }

    /// Stores the changes in the editor, if there are any. If another process has changed the note, they are stored as a new
    /// note. A new note without a title and text is not a change.
    /// - Returns: Whether the editor has no changes afterwards.
    public func saveChanges() async -> Bool {
        if hasChanges, conflict == nil { await save() }
        if hasChanges, conflict != nil, let draft {
            self.draft = Note(title: "\(draft.title) (copy)", text: draft.text, tag: draft.tag)
            (base, conflict) = (nil, nil)
            await save()
        }
        return !hasChanges
    }

    private var hasChanges: Bool {
        guard let draft, draft != base else { return false }
        return base != nil || !draft.title.isEmpty || !draft.text.isEmpty
    }

    /// Applies what the user has typed to the note in the editor.
    public func edit(title: String, text: String, tag: String) {
        guard var note = draft else { return }
        (note.title, note.text, note.tag) = (title, text, tag)
        draft = note
    }

    /// Updates the editor after a change of the list. Changes of the user stay. When the notes are locked, an editor
    /// without such changes is emptied.
    public func listChanged() {
        guard draft == base, let base else { return }
        if isLocked {
            (draft, self.base, result) = (nil, nil, "")
        } else if let stored = notes.first(where: { $0.id == base.id }), stored != base {
            (draft, self.base, conflict) = (stored, stored, nil)
        }
    }

    /// Stores the note of the editor. If another process has changed the note since it was opened, the call changes
    /// nothing and says so. The next call replaces that change.
    public func save() async {
        guard var new = draft else { return }
        new.date = .now
        let (saved, expected) = (new, conflict == nil ? base : conflict?.stored)
        do {
            try await storage.update(saved.id, in: Note.collection) { stored in
                guard stored == expected else { throw Changed(stored: stored) }
                stored = saved
            }
            result = "Saved."
            guard draft?.id == saved.id else { return }
            (base, conflict) = (saved, nil)
            draft?.date = saved.date
        } catch let change as Changed {
            if draft?.id == saved.id { conflict = change }
            result = "Another program has \(change.stored == nil ? "removed" : "changed") this note. Save again to replace its version."
        } catch {
            result = Self.text(of: error)
        }
    }

    private struct Changed: Error, Equatable { let stored: Note? }

    /// Removes the note of the editor.
    public func remove() async {
        guard let id = draft?.id else { return }
        do {
            if base != nil { try await storage.remove(id, in: Note.collection) }
            result = "Removed."
            if draft?.id == id { (draft, base, conflict) = (nil, nil, nil) }
        } catch {
            result = Self.text(of: error)
        }
    }

    // MARK: The keyring

    /// Unlocks the keyring. Its daemon may ask the user for the password.
    public func unlock() async {
        guard !isUnlocking else { return }
        isUnlocking = true
        defer { isUnlocking = false }
        do {
            try await storage.unlock(Note.collection.domain)
            result = ""
        } catch {
            result = Self.text(of: error)
        }
    }

    private static func text(of error: any Error) -> String { (error as? StorageError)?.message ?? "\(error)" }
}
