#if Keyring && os(Linux)
    import CLibSecret
    import Synchronization

    /// The owners of bus names, as far as the bus has signalled changes to a link.
    ///
    /// The bus sends its signals and its replies to a connection in one order. An owner that was signalled is therefore
    /// at least as new as a reply that came before the signal.
    final class NameOwners: Sendable {
        private let owners = Mutex<[String: String]>([:])

        /// Returns the unique name of the owner that was signalled last: empty if the name lost its owner, nil if no
        /// change was signalled.
        subscript(name: String) -> String? { owners.withLock { $0[name] } }

        /// Notes a signal of the bus.
        fileprivate func note(_ signal: OpaquePointer) {
            guard let body = g_dbus_message_get_body(signal).map({ Variant(owning: g_variant_ref($0)) }), body.signature == "(sss)",
                let name = body[0]?.text, let owner = body[2]?.text
            else { return }
            owners.withLock { $0[name] = owner }
        }
    }

    extension SecretLink {
        private static let bus = "org.freedesktop.DBus"

        /// Asks the bus for signals about the owners of names, and notes them in ``owners`` until the connection ends.
        func followOwners(of names: [String], _ call: BusCall) throws(KeyringFault) {
            let filter: GDBusMessageFilterFunction = { _, message, incoming, owners in
                // Only the bus itself may send under this name (D-Bus specification, "Message Bus Names").
                if incoming != 0, let message, let owners, g_dbus_message_get_message_type(message) == G_DBUS_MESSAGE_TYPE_SIGNAL,
                    let member = g_dbus_message_get_member(message), String(cString: member) == "NameOwnerChanged",
                    let sender = g_dbus_message_get_sender(message), String(cString: sender) == SecretLink.bus
                {
                    Unmanaged<NameOwners>.fromOpaque(owners).takeUnretainedValue().note(message)
                }
                return message
            }
            g_dbus_connection_add_filter(connection, filter, Unmanaged.passRetained(owners).toOpaque()) { owners in
                if let owners { Unmanaged<NameOwners>.fromOpaque(owners).release() }
            }
            for name in names {
                let rule = "type='signal',sender='\(Self.bus)',interface='\(Self.bus)',member='NameOwnerChanged',arg0='\(name)'"
                _ = try askBus("AddMatch", Outgoing.tuple(Outgoing.text(rule)), reply: "()", call)
            }
        }

        /// Calls a method of the bus itself.
        func askBus(_ method: String, _ arguments: OpaquePointer?, reply: String, _ call: BusCall) throws(KeyringFault) -> Variant {
            try request("/org/freedesktop/DBus", Self.bus, method, arguments, to: Self.bus, reply: reply, call)
        }
    }
#endif
