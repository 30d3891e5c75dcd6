#if Keyring && os(Linux)
    import CLibSecret

    /// A connection to a bus for the requests that tests need. It is closed with the object.
    final class PrivateBus {
        private let connection: OpaquePointer

        init(_ address: String) throws {
            var error: UnsafeMutablePointer<GError>?
            let flags = GDBusConnectionFlags(
                G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue)
            guard let connection = g_dbus_connection_new_for_address_sync(address, flags, nil, nil, &error) else {
                throw Self.failure(error)
            }
            self.connection = connection
        }

        deinit {
            g_dbus_connection_close(connection, nil, nil, nil)
            g_object_unref(UnsafeMutableRawPointer(connection))
        }

        /// Sends a request.
        /// - Parameter arguments: A tuple in GVariant's text format.
        /// - Returns: The reply in the same format.
        @discardableResult
        func call(
            _ method: String, on path: String = "/org/freedesktop/secrets", of destination: String = "org.freedesktop.secrets",
            _ arguments: String
        ) throws -> String {
            var error: UnsafeMutablePointer<GError>?
            guard let value = g_variant_parse(nil, arguments, nil, nil, &error) else { throw Self.failure(error) }
            defer { g_variant_unref(value) }
            let dot = method.lastIndex(of: ".") ?? method.startIndex
            let reply = g_dbus_connection_call_sync(
                connection, destination, path, String(method[..<dot]), String(method[method.index(after: dot)...]), value, nil,
                G_DBUS_CALL_FLAGS_NO_AUTO_START, 20_000, nil, &error)
            guard let reply else { throw Self.failure(error) }
            defer { g_variant_unref(reply) }
            guard let text = g_variant_print(reply, 0) else { return "" }
            defer { g_free(text) }
            return String(cString: text)
        }

        /// Takes a name on the bus.
        func own(_ name: String) throws {
            try call("org.freedesktop.DBus.RequestName", on: "/org/freedesktop/DBus", of: "org.freedesktop.DBus", "('\(name)', uint32 0)")
        }

        /// Leaves every later request to this connection without an answer.
        func ignoreRequests() {
            let drop: GDBusMessageFilterFunction = { _, message, incoming, _ in
                guard incoming != 0, g_dbus_message_get_message_type(message) == G_DBUS_MESSAGE_TYPE_METHOD_CALL else { return message }
                g_object_unref(UnsafeMutableRawPointer(message))
                return nil
            }
            g_dbus_connection_add_filter(connection, drop, nil, nil)
        }

        /// Opens a session without encryption. Returns a secret in that session, as GVariant text.
        func plainSecret(_ secret: String) throws -> String {
            let reply = try call("org.freedesktop.Secret.Service.OpenSession", "('plain', <''>)")
            guard let session = Self.paths(reply).first else { throw ProgramFailure("no session in \(reply)") }
            let bytes = secret.utf8.map { "byte \($0)" }.joined(separator: ", ")
            return "(objectpath '\(session)', @ay [], @ay [\(bytes)], 'text/plain')"
        }

        /// Returns the object paths in a printed reply.
        static func paths(_ reply: String) -> [String] {
            reply.split(separator: "'").map(String.init).filter { $0.hasPrefix("/") }
        }

        private static func failure(_ error: UnsafeMutablePointer<GError>?) -> ProgramFailure {
            guard let error else { return ProgramFailure("GLib gave no reason") }
            defer { g_error_free(error) }
            return ProgramFailure(error.pointee.message.map { String(cString: $0) } ?? "GLib gave no message")
        }
    }
#endif
