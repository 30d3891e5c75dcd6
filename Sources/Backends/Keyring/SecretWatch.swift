#if Keyring && os(Linux)
    import BackendRuntime
    import CLibSecret
    import Synchronization

    /// Listens to the signals of the keyring for the stores of a process. While there are listeners, it has one
    /// connection to the bus.
    ///
    /// A notification only means that something may have changed.
    final class SecretWatch: Sendable {
        private struct State {
            var listeners: [Int: @Sendable () -> Void] = [:]
            var added = 0
            var link: SecretLink?
        }

        private let state = Mutex(State())

        /// Adds a listener, which is called for each change on a thread of GDBus. Opens no connection.
        /// - Returns: The number for removing the listener.
        func add(_ listener: @escaping @Sendable () -> Void) -> Int {
            state.withLock { state in
                state.added += 1
                state.listeners[state.added] = listener
                return state.added
            }
        }

        /// Removes a listener. Closes the connection after the last one.
        func remove(_ number: Int) {
            let unused = state.withLock { state -> SecretLink? in
                state.listeners[number] = nil
                guard state.listeners.isEmpty else { return nil }
                return state.link.take()
            }
            withExtendedLifetime(unused) {}
        }

        /// Whether listeners would miss changes, because their connection has ended or leads to a bus with another
        /// address.
        func isDeaf(at address: String) -> Bool {
            state.withLock { state in
                guard !state.listeners.isEmpty, let link = state.link else { return false }
                return link.isClosed || link.address != address
            }
        }

        /// Opens the connection unless it is already open. Then notifies the listeners, because they may have missed
        /// a change.
        /// - Throws: ``KeyringFault`` if the bus cannot be reached.
        func listen(at address: String, _ files: any FileSystem, _ call: BusCall) throws(KeyringFault) {
            let isListening = state.withLock { $0.link.map { !$0.isClosed && $0.address == address } ?? false }
            if !isListening {
                let link = try SecretLink(address: address, files, call)
                try link.subscribe(call) { [weak self] in self?.announce() }
                state.withLock { if !$0.listeners.isEmpty { $0.link = link } }
            }
            announce()
        }

        private func announce() {
            for listener in state.withLock({ Array($0.listeners.values) }) { listener() }
        }
    }

    /// The handler for the signals of a connection, as an object that a C pointer can refer to.
    private final class SignalHandler {
        let handle: @Sendable () -> Void
        init(_ handle: @escaping @Sendable () -> Void) { self.handle = handle }
    }

    extension SecretLink {
        /// Subscribes to signals for items that are created, changed and deleted, and for collections that are locked
        /// and unlocked. They come from any program that provides the Secret Service at that time.
        /// - Parameter handle: Called for each signal on a thread of GDBus, until the connection ends.
        func subscribe(_ call: BusCall, _ handle: @escaping @Sendable () -> Void) throws(KeyringFault) {
            let filter: GDBusMessageFilterFunction = { _, message, incoming, handler in
                guard incoming != 0, let message, let handler, g_dbus_message_get_message_type(message) == G_DBUS_MESSAGE_TYPE_SIGNAL,
                    let member = g_dbus_message_get_member(message)
                else { return message }
                if SecretLink.signals.contains(String(cString: member)) {
                    Unmanaged<SignalHandler>.fromOpaque(handler).takeUnretainedValue().handle()
                }
                return message
            }
            let handler = Unmanaged.passRetained(SignalHandler(handle)).toOpaque()
            g_dbus_connection_add_filter(connection, filter, handler) { handler in
                if let handler { Unmanaged<SignalHandler>.fromOpaque(handler).release() }
            }
            for interface in ["Collection", "Service"] {
                let rule = "type='signal',sender='\(Self.daemon)',interface='org.freedesktop.Secret.\(interface)'"
                _ = try askBus("AddMatch", Outgoing.tuple(Outgoing.text(rule)), reply: "()", call)
            }
        }

        private static let signals: Set = ["ItemCreated", "ItemChanged", "ItemDeleted", "CollectionChanged"]
    }
#endif
