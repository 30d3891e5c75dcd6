import Foundation
import LocalData
import NotesModel
import Observation
import Testing

@MainActor struct NotesModelTests {
    private let storage = StorageRouter(configuration: .inMemory())

    @Test func `the list follows a change that another task makes`() async throws {
        let model = NotesModel(storage)
        try await storage.set(Note(title: "Bread"), in: Note.collection)
        await reached { model.notes.map(\.title) == ["Bread"] }
    }

    @Test func `the list has the notes with the tag of the filter, the latest one first`() async throws {
        var notes = [("Report", "work"), ("Bread", "home"), ("Plan", "work")].map { Note(title: $0.0, tag: $0.1) }
        for index in notes.indices { notes[index].date = Date(timeIntervalSince1970: Double(index)) }
        try await storage.set(notes, in: Note.collection)
        let model = NotesModel(storage)
        await reached { model.notes.map(\.title) == ["Plan", "Bread", "Report"] }
        model.filter(by: "work")
        await reached { model.notes.map(\.title) == ["Plan", "Report"] }
    }

    @Test func `changes in the editor are stored before another note is opened`() async throws {
        let (first, second) = (Note(title: "Bread"), Note(title: "Report"))
        let model = try await model(of: first, second)
        await model.open(first.id)
        model.edit(title: "Oat bread", text: "", tag: first.tag)
        await model.open(second.id)
        #expect(model.draft?.title == "Report")
        #expect(try await storage.get(first.id, in: Note.collection).title == "Oat bread")
    }

    @Test func `a change by another process is replaced only by the second save`() async throws {
        let note = Note(title: "Bread")
        let model = try await model(of: note)
        await model.open(note.id)
        model.edit(title: "Oat bread", text: "", tag: note.tag)
        try await storage.update(note.id, in: Note.collection) { $0?.text = "From the shop" }

        await model.save()
        #expect(try await storage.get(note.id, in: Note.collection).text == "From the shop")
        #expect(model.draft?.title == "Oat bread")
        await model.save()
        #expect(try await storage.get(note.id, in: Note.collection).title == "Oat bread")
    }

    @Test func `changes that conflict with another process are stored as a copy before another note is opened`() async throws {
        let (first, second) = (Note(title: "Bread"), Note(title: "Report"))
        let model = try await model(of: first, second)
        await model.open(first.id)
        model.edit(title: "Oat bread", text: "", tag: first.tag)
        try await storage.update(first.id, in: Note.collection) { $0?.text = "From the shop" }

        await model.open(second.id)
        #expect(model.draft == second)
        #expect(try await storage.get(first.id, in: Note.collection).text == "From the shop")
        await reached { Set(model.notes.map(\.title)) == ["Bread", "Oat bread (copy)", "Report"] }
    }

    @Test func `a new note without a title and text is not stored`() async throws {
        let note = Note(title: "Bread")
        let model = try await model(of: note)
        await model.begin()
        await model.open(note.id)
        #expect(model.draft == note)
        #expect(model.notes == [note])
    }

    @Test func `a lock empties the editor, but keeps changes that are not stored`() async throws {
        let note = Note(title: "Bread")
        let model = try await model(of: note)
        await model.open(note.id)
        try await storage.lock(Note.collection.domain)
        await reached { model.isLocked }
        model.listChanged()
        #expect(model.draft == nil)

        await model.unlock()
        await reached { model.notes == [note] }
        await model.open(note.id)
        model.edit(title: "Oat bread", text: "", tag: note.tag)
        try await storage.lock(Note.collection.domain)
        await reached { model.isLocked }
        model.listChanged()
        #expect(model.notes.isEmpty)
        #expect(model.draft?.title == "Oat bread")
    }

    /// A model whose list has the notes.
    private func model(of notes: Note...) async throws -> NotesModel {
        try await storage.set(notes, in: Note.collection)
        let model = NotesModel(storage)
        await reached { model.notes.count == notes.count }
        return model
    }

    /// Waits until a condition on the model holds. Checks it again after each change of the model.
    private func reached(_ condition: @MainActor () -> Bool) async {
        let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        func check() -> Bool {
            withObservationTracking {
                condition()
            } onChange: {
                change.yield()
            }
        }
        if check() { return }
        // The loop continues after the change, because both run on the main actor.
        for await _ in changes where check() { return }
    }
}
