#if Keyring && os(Linux)
    import CLibSecret

    /// A D-Bus value that was received.
    final class Variant {
        let pointer: OpaquePointer

        /// Takes ownership of a reference.
        init(owning pointer: OpaquePointer) { self.pointer = pointer }

        deinit { g_variant_unref(pointer) }

        var count: Int { Int(g_variant_n_children(pointer)) }

        /// A child of a container; nil if there is none.
        subscript(index: Int) -> Variant? {
            guard g_variant_is_container(pointer) != 0, index < count else { return nil }
            return g_variant_get_child_value(pointer, gsize(index)).map(Variant.init(owning:))
        }

        var children: [Variant] { (0..<count).compactMap { self[$0] } }

        /// The content of a value of type `v`.
        var inner: Variant? { signature == "v" ? g_variant_get_variant(pointer).map(Variant.init(owning:)) : nil }

        var signature: String { g_variant_get_type_string(pointer).map { String(cString: $0) } ?? "" }

        /// The text of a string, an object path or a signature.
        var text: String? {
            guard ["s", "o", "g"].contains(signature) else { return nil }
            return g_variant_get_string(pointer, nil).map { String(cString: $0) }
        }

        var flag: Bool? { signature == "b" ? g_variant_get_boolean(pointer) != 0 : nil }

        /// An unsigned number of 32 or 64 bits.
        var number: UInt64? {
            switch signature {
            case "t": UInt64(g_variant_get_uint64(pointer))
            case "u": UInt64(g_variant_get_uint32(pointer))
            default: nil
            }
        }

        /// The texts of a value of type `as` or `ao`.
        var texts: [String] { children.compactMap(\.text) }

        /// The entries of a value of type `a{ss}`.
        var dictionary: [String: String] { entries(\.text) }

        /// The entries of a value of type `a{sv}`.
        var properties: [String: Variant] { entries(\.inner) }

        private func entries<Value>(_ value: (Variant) -> Value?) -> [String: Value] {
            let found = children.compactMap { entry in entry[0]?.text.flatMap { key in entry[1].flatMap(value).map { (key, $0) } } }
            return Dictionary(found) { first, _ in first }
        }
    }

    /// Creates D-Bus values to send, as GLib's floating references. Pass each value to exactly one container or
    /// request, which takes ownership of it.
    enum Outgoing {
        static func text(_ text: String) -> OpaquePointer? { g_variant_new_string(text) }
        static func path(_ path: String) -> OpaquePointer? { g_variant_new_object_path(path) }
        static func flag(_ flag: Bool) -> OpaquePointer? { g_variant_new_boolean(flag ? 1 : 0) }
        static func boxed(_ value: OpaquePointer?) -> OpaquePointer? { g_variant_new_variant(value) }

        static func tuple(_ values: OpaquePointer?...) -> OpaquePointer? { container("r", values) }

        static func paths(_ paths: [String]) -> OpaquePointer? { container("ao", paths.map(path)) }

        static func dictionary(_ entries: [String: String]) -> OpaquePointer? {
            container("a{ss}", entries.map { g_variant_new_dict_entry(text($0.key), text($0.value)) })
        }

        static func properties(_ entries: [(String, OpaquePointer?)]) -> OpaquePointer? {
            container("a{sv}", entries.map { g_variant_new_dict_entry(text($0.0), boxed($0.1)) })
        }

        private static func container(_ type: String, _ values: [OpaquePointer?]) -> OpaquePointer? {
            let type = g_variant_type_new(type)
            defer { g_variant_type_free(type) }
            let builder = g_variant_builder_new(type)
            defer { g_variant_builder_unref(builder) }
            for value in values { g_variant_builder_add_value(builder, value) }
            return g_variant_builder_end(builder)
        }
    }
#endif
