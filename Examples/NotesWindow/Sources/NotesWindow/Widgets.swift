import CGTK

// GTK's interface is in C. This file has what Swift needs in addition: casts between classes, and signals that call
// closures.

/// A widget. Its class may be any subclass of `GtkWidget`.
typealias Widget = UnsafeMutablePointer<GtkWidget>

extension UnsafeMutablePointer where Pointee == GtkWidget {
    /// Casts to a class whose C structure is public, as GTK's macros do: `GTK_WINDOW(widget)`.
    func cast<Class>(to _: Class.Type = Class.self) -> UnsafeMutablePointer<Class> {
        UnsafeMutableRawPointer(self).assumingMemoryBound(to: Class.self)
    }

    /// Casts to a class or an interface whose C structure is private.
    var opaque: OpaquePointer { OpaquePointer(self) }

    /// Sets whether the widget is visible, unless it is so already.
    func show(_ isVisible: Bool) { gtk_widget_set_visible(self, isVisible ? 1 : 0) }

    /// Sets whether the user can use the widget.
    func enable(_ isEnabled: Bool) { gtk_widget_set_sensitive(self, isEnabled ? 1 : 0) }

    /// Adds a class of the theme's style sheet.
    func styled(_ names: String...) -> Widget {
        for name in names { gtk_widget_add_css_class(self, name) }
        return self
    }

    /// Lets the widget take the space that is left.
    func expanding() -> Widget {
        gtk_widget_set_vexpand(self, 1)
        return expandingInWidth()
    }

    /// Lets the widget take the width that is left.
    func expandingInWidth() -> Widget {
        gtk_widget_set_hexpand(self, 1)
        return self
    }
}

/// Widgets beside each other.
@MainActor func row(_ children: [Widget]) -> Widget { box(GTK_ORIENTATION_HORIZONTAL, children, margin: 0) }

/// Widgets below each other.
@MainActor func column(_ children: [Widget], margin: Int32 = 0) -> Widget { box(GTK_ORIENTATION_VERTICAL, children, margin: margin) }

@MainActor private func box(_ orientation: GtkOrientation, _ children: [Widget], margin: Int32) -> Widget {
    let box: Widget = gtk_box_new(orientation, 6)
    for child in children { gtk_box_append(box.cast(), child) }
    gtk_widget_set_margin_start(box, margin)
    gtk_widget_set_margin_end(box, margin)
    gtk_widget_set_margin_top(box, margin)
    gtk_widget_set_margin_bottom(box, margin)
    return box
}

/// A line of text.
@MainActor func label(_ text: String = "") -> Widget {
    let label: Widget = gtk_label_new(text)
    gtk_label_set_xalign(label.opaque, 0)
    gtk_label_set_ellipsize(label.opaque, PANGO_ELLIPSIZE_END)
    return label
}

/// A button. Alt and the letter after the underscore press it, too.
@MainActor func button(_ title: String, _ action: @escaping @MainActor () -> Void) -> Widget {
    let button: Widget = gtk_button_new_with_mnemonic(title)
    connect(button, "clicked", action)
    return button
}

/// A list of texts to choose from.
@MainActor func dropDown(_ texts: [String], _ changed: @escaping @MainActor () -> Void) -> Widget {
    let items = gtk_string_list_new(nil)
    for text in texts { gtk_string_list_append(items, text) }
    let dropDown: Widget = gtk_drop_down_new(items, nil)
    connect(dropDown, "notify::selected", changed)
    return dropDown
}

/// An area that scrolls.
@MainActor func scrolled(_ child: Widget) -> Widget {
    let area: Widget = gtk_scrolled_window_new()
    gtk_scrolled_window_set_child(area.opaque, child)
    return area.expanding()
}

// MARK: Texts

/// The text of an entry.
@MainActor func text(ofEntry entry: Widget) -> String { String(cString: gtk_editable_get_text(entry.opaque)) }

/// The text of a text view.
@MainActor func text(ofView view: Widget) -> String {
    let buffer = gtk_text_view_get_buffer(view.cast())
    var (start, end) = (GtkTextIter(), GtkTextIter())
    gtk_text_buffer_get_bounds(buffer, &start, &end)
    guard let text = gtk_text_buffer_get_text(buffer, &start, &end, 0) else { return "" }
    defer { g_free(text) }
    return String(cString: text)
}

// MARK: Signals

/// The closure of a signal. GTK owns it, and releases it with the object.
private final class Action {
    let run: @MainActor () -> Void
    init(_ run: @escaping @MainActor () -> Void) { self.run = run }
}

/// Calls a closure for each signal of an object. If the signal has a result, it is true: the closure has handled the signal.
///
/// With `G_CONNECT_SWAPPED`, the first argument of the handler is its closure, whatever the arguments of the signal are.
/// The handler ignores all further arguments, as GTK's functions do that are connected this way.
@MainActor func connect(_ object: UnsafeMutableRawPointer, _ signal: String, _ action: @escaping @MainActor () -> Void) {
    let handler: @convention(c) (gpointer?) -> gboolean = { data in
        guard let data else { return 0 }
        let action = Unmanaged<Action>.fromOpaque(data).takeUnretainedValue()
        // GTK sends every signal on the main thread.
        MainActor.assumeIsolated { action.run() }
        return 1
    }
    let release: GClosureNotify = { data, _ in data.map { Unmanaged<Action>.fromOpaque($0).release() } }
    g_signal_connect_data(
        object, signal, unsafeBitCast(handler, to: GCallback.self), Unmanaged.passRetained(Action(action)).toOpaque(), release,
        G_CONNECT_SWAPPED)
}
