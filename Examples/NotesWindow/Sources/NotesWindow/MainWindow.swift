import CGTK
import NotesModel
import Observation

/// The window: a list of notes, an editor, and a banner while the keyring is locked.
///
/// Signals of the widgets call the model. ``render()`` is the only function that changes the widgets afterwards. It runs
/// after each change of the model.
@MainActor final class MainWindow {
    private let model: NotesModel
    /// Receives a line for each state of the window that differs from the one before.
    private let report: (String) -> Void
    private var lastReport = ""
    /// Whether the user has closed the window. Its widgets no longer exist then.
    private(set) var isClosed = false
    /// Whether the user has tried to close the window while its changes could not be stored.
    private var discardsChanges = false
    /// Whether ``render()`` runs. Signals that it causes are not input.
    private var isRendering = false
    /// The notes in the rows of the list, in their order.
    private var shown: [Note] = []

    private let window: Widget = gtk_window_new()
    private let rows: Widget = gtk_list_box_new()
    private let empty = label("No notes.").styled("dim-label")
    private let titleEntry: Widget = gtk_entry_new()
    private let textView: Widget = gtk_text_view_new()
    private let message = label()
    private lazy var filter = dropDown(["all"] + Note.tags) { [unowned self] in chooseFilter() }
    private lazy var tag = dropDown(Note.tags) { [unowned self] in edited() }
    private lazy var newButton = button("_New") { [unowned self] in beginNote() }
    private lazy var unlockButton = button("_Unlock") { [unowned self] in Task { await self.model.unlock() } }
    private lazy var saveButton = button("_Save") { [unowned self] in Task { await self.model.save() } }.styled("suggested-action")
    private lazy var deleteButton = button("_Delete") { [unowned self] in Task { await self.model.remove() } }
    private lazy var banner = row([label("The keyring is locked.").expandingInWidth(), unlockButton]).styled("osd", "toolbar")
    private lazy var editor = column([titleEntry, tag, scrolled(textView).styled("frame"), row([saveButton, deleteButton])]).expanding()
    private lazy var list = column([empty, scrolled(rows)])
    private lazy var content = row([list, editor]).expanding()

    init(_ model: NotesModel, report: @escaping (String) -> Void) {
        (self.model, self.report) = (model, report)
    }

    /// Shows the window, and renders the model after each change until the window is closed.
    func present() {
        build()
        follow()
        gtk_window_present(window.cast())
    }

    private func build() {
        connect(window, "close-request") { [unowned self] in close() }
        connect(rows, "row-selected") { [unowned self] in openSelectedNote() }
        connect(titleEntry, "changed") { [unowned self] in edited() }
        connect(gtk_text_view_get_buffer(textView.cast()), "changed") { [unowned self] in edited() }
        gtk_entry_set_placeholder_text(titleEntry.cast(), "Title")
        gtk_text_view_set_wrap_mode(textView.cast(), GTK_WRAP_WORD_CHAR)
        gtk_text_view_set_left_margin(textView.cast(), 6)
        gtk_text_view_set_top_margin(textView.cast(), 6)
        gtk_widget_set_size_request(list, 220, -1)
        gtk_widget_set_hexpand(list, 0)

        let tagLabel: Widget = gtk_label_new_with_mnemonic("_Tag")
        gtk_label_set_mnemonic_widget(tagLabel.opaque, filter)
        let header: Widget = gtk_header_bar_new()
        gtk_header_bar_pack_start(header.opaque, newButton)
        gtk_header_bar_pack_end(header.opaque, filter)
        gtk_header_bar_pack_end(header.opaque, tagLabel)
        gtk_window_set_titlebar(window.cast(), header)
        gtk_window_set_title(window.cast(), "Notes")
        gtk_window_set_default_size(window.cast(), 640, 400)
        gtk_window_set_child(window.cast(), column([banner, content, message], margin: 6))
    }

    // MARK: From the widgets to the model

    private func chooseFilter() {
        let chosen = Int(gtk_drop_down_get_selected(filter.opaque))
        model.filter(by: chosen == 0 ? nil : Note.tags[chosen - 1])
    }

    private func beginNote() {
        Task {
            await model.begin()
            render()
            if !isClosed { gtk_widget_grab_focus(titleEntry) }
        }
    }

    private func openSelectedNote() {
        guard !isRendering, !isClosed, let row = gtk_list_box_get_selected_row(rows.opaque) else { return }
        let id = shown[Int(gtk_list_box_row_get_index(row))].id
        Task {
            await model.open(id)
            render()  // selects the note in the editor, also if it is not the one that the user has chosen
        }
    }

    private func edited() {
        guard !isRendering, !isClosed else { return }
        discardsChanges = false
        let chosen = Int(gtk_drop_down_get_selected(tag.opaque))
        model.edit(title: text(ofEntry: titleEntry), text: text(ofView: textView), tag: Note.tags[chosen])
    }

    private func close() {
        Task {
            if await model.saveChanges() || discardsChanges {
                isClosed = true
                gtk_window_destroy(window.cast())
            } else {
                discardsChanges = true
                gtk_label_set_text(message.opaque, "\(model.message) Close the window again to discard your changes.")
            }
        }
    }

    // MARK: From the model to the widgets

    private func follow() {
        guard !isClosed else { return }
        model.listChanged()
        withObservationTracking {
            render()
        } onChange: {
            // This closure runs before the change. The job runs after it.
            Task { @MainActor [weak self] in self?.follow() }
        }
    }

    private func render() {
        guard !isClosed else { return }
        isRendering = true
        defer { isRendering = false }
        banner.show(model.isLocked)
        unlockButton.enable(!model.isUnlocking)
        newButton.enable(!model.isLocked)
        content.show(!model.isLocked)
        gtk_label_set_text(message.opaque, model.message)
        renderEditor()
        // While the notes of another filter are read, the list stays unchanged, so that it does not flicker.
        if model.isLoading { return }
        renderList(model.notes)
        let line = model.isLocked ? "locked" : "\(model.tag ?? "all"): \(shown.map(\.title).joined(separator: ", "))"
        if line != lastReport { report(line) }
        lastReport = line
    }

    private func renderList(_ notes: [Note]) {
        if notes != shown {
            gtk_list_box_unselect_all(rows.opaque)
            while let row = gtk_widget_get_first_child(rows) { gtk_list_box_remove(rows.opaque, row) }
            for note in notes {
                gtk_list_box_append(rows.opaque, column([label(note.title), label(note.tag).styled("dim-label", "caption")], margin: 6))
            }
            shown = notes
        }
        empty.show(notes.isEmpty)
        let selected = notes.firstIndex { $0.id == model.draft?.id }
        gtk_list_box_select_row(rows.opaque, selected.flatMap { gtk_list_box_get_row_at_index(rows.opaque, Int32($0)) })
    }

    private func renderEditor() {
        let draft = model.draft
        editor.enable(draft != nil)
        // To set a text again would move the cursor.
        if text(ofEntry: titleEntry) != draft?.title ?? "" { gtk_editable_set_text(titleEntry.opaque, draft?.title ?? "") }
        if text(ofView: textView) != draft?.text ?? "" {
            gtk_text_buffer_set_text(gtk_text_view_get_buffer(textView.cast()), draft?.text ?? "", -1)
        }
        let chosen = draft.flatMap { Note.tags.firstIndex(of: $0.tag) } ?? 0
        gtk_drop_down_set_selected(tag.opaque, guint(chosen))
    }
}
