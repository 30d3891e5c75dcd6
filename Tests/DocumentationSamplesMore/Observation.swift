import Foundation
import LocalData
import LocalDataObservation
import LocalDataQueries

extension StorageKey where Value == Int {
    static let width: Self = settings.key("width", "The width of the window in points", default: 800)
}

/// Samples of the objects that views observe. They are compiled, and not run.
@MainActor enum ObservationSamples {
    // MARK: Changes

    static func changes(_ storage: StorageRouter) async throws {
        do {
            for try await change in storage.changes(in: notes) {
                switch change {
                case .inserted(let id, let note): print("\(id) is new: \(note.title)")
                case .changed(let id, let old, let new): print("\(id) was \(old?.title ?? "unknown"), and is \(new.title)")
                case .removed(let id, _): print("\(id) was removed")
                }
            }
        } catch StorageError.corrupted { print("A note is damaged. Pass `onDamage: .skip` to follow the others.") }
    }

    static func applying(_ storage: StorageRouter) async throws {
        var known: [String: Note] = [:]
        do {
            for try await change in storage.changes(in: notes) {
                change.apply(to: &known)
                print("\(change.id): \(change.record?.title ?? "removed"). There are \(known.count) notes.")
            }
        } catch StorageError.corrupted { print("A note is damaged. Pass `onDamage: .skip` to follow the others.") }
    }

    // MARK: One value

    @MainActor final class WindowModel {
        let width: Stored<Int>

        init(_ storage: StorageRouter) { width = Stored(.width, in: storage) }

        var title: String {
            switch width.state {
            case .value(let width): "\(width) points"
            case .failed(let error): error.localizedDescription
            default: "unknown"  // loading, absent, vanished or locked
            }
        }
    }

    static func following(_ storage: StorageRouter) {
        let width = Stored(.width, in: storage)  // returns at once; `state` is `loading`, then `value` or a reason such as `locked`
        _ = width
    }

    static func state(_ width: Stored<Int>) -> String {
        let text =
            switch width.state {
            case .loading: "…"
            case .value(let width): "\(width) points"
            case .absent: "not set"
            case .vanished: "lost: another program removed it"
            case .locked: "locked"
            case .failed(let error): error.localizedDescription
            }
        return text
    }

    static func value(_ width: Stored<Int>) {
        if let points = width.value { print("\(points) points") } else { print("There is no value. `state` has the reason.") }
    }

    static func setting(_ width: Stored<Int>) async {
        do {
            try await width.set(1_024)  // then `state` has this value or a later one
        } catch { print(error.localizedDescription) }  // says so if the outcome is unknown; `state` has the stored value
    }

    static func updating(_ width: Stored<Int>) async {
        do {
            try await width.update { $0 = ($0 ?? 0) + 100 }  // also counts a change that another program just made
        } catch { print(error.localizedDescription) }  // says so if the outcome is unknown
    }

    static func removing(_ width: Stored<Int>) async {
        do { try await width.remove() } catch StorageError.residueRemains {
            print("The width was removed. An older copy remains, and the next sweep deletes it.")
        } catch { print(error.localizedDescription) }
    }

    static func closing(_ storage: StorageRouter) {
        let width = Stored(.width, in: storage)
        width.close()  // the window is closed, but a view still has the object
    }

    // MARK: Records

    static func records(_ storage: StorageRouter) {
        let list = StoredRecords(notes, in: storage)
        for note in list.records { print(note.title) }  // in a view that redraws when the object changes
        if case .failed(let error) = list.state { print(error.localizedDescription) }
    }

    static func recordsState(_ list: StoredRecords<Note>) -> String {
        let text =
            switch list.state {
            case .loading: "…"
            case .loaded: "\(list.records.count) notes"
            case .locked: "Unlock the keyring to see the notes."
            case .failed(let error): error.localizedDescription
            }
        return text
    }

    static func damaged(_ storage: StorageRouter) {
        let list = StoredRecords(notes, in: storage, onDamage: .skip)  // with `.throw`, one damaged note hides all others
        _ = list
    }

    static func queried(_ storage: StorageRouter) {
        let newest = RecordQuery(in: notes, where: \.title != "", orderedBy: .ascending(\.title), limit: 20)
        let list = StoredRecords(newest, in: storage)
        if case .failed(let error) = list.state { print(error.localizedDescription) }
    }

    static func storing(_ list: StoredRecords<Note>) async {
        do {
            try await list.set(Note(id: "a", title: "Milk"))  // then `records` has this note or a later one
        } catch { print(error.localizedDescription) }  // says so if the outcome is unknown
    }

    static func removingRecord(_ list: StoredRecords<Note>) async {
        do { try await list.remove(id: "a") } catch StorageError.residueRemains {
            print("The note was removed. An older copy remains, and the next sweep deletes it.")
        } catch { print(error.localizedDescription) }
    }

    static func closingRecords(_ storage: StorageRouter) {
        let list = StoredRecords(notes, in: storage)
        list.close()  // the window is closed, but a view still has the object
    }
}
