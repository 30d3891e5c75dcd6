#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime
    import CLibSecret
    import Synchronization

    /// A separate connection to one session bus, and to one daemon (the program that keeps the secrets) on this bus. It
    /// has a session with the daemon, whose key encrypts secrets on the bus.
    ///
    /// The connection that `g_bus_get` shares with the whole process is not used. That connection cannot be replaced
    /// after the bus has died or a reply was too large, and it would end the process when the bus ends. Every request
    /// has a time limit. Only ``unlock(_:_:)`` and ``perform(_:_:staysOpen:)`` open prompts.
    ///
    /// `@unchecked Sendable`: the connection may be used on any thread (documentation of GDBusConnection) and is
    /// never replaced. libsecret's service object is created once, guarded by `session`. After that, encoding and
    /// decoding only read its session.
    final class SecretLink: @unchecked Sendable {
        let address: String
        let connection: OpaquePointer
        /// The owners of the names of the daemon, as the bus signalled them.
        let owners = NameOwners()
        private let keeper = Mutex<Keeper?>(nil)
        private let session = Mutex<SessionBox?>(nil)
        /// Whether the daemon has refused an unlock without a prompt over this link.
        let needsPrompt = Mutex(false)

        /// The default collection that was read last over this link. It may have changed since.
        let latestCollection = Mutex<String?>(nil)

        /// The daemon of the link, by its unique bus name.
        private struct Keeper {
            let name: String
            /// Whether it also owned the name of gnome-keyring.
            let isGnome: Bool
        }

        /// `@unchecked Sendable`: the service object is created once and only read afterwards; see ``SecretLink``.
        private struct SessionBox: @unchecked Sendable {
            let service: UnsafeMutablePointer<SecretService>
            let isGnomeKeyring: Bool
            /// The algorithm that encrypts secrets in transit, by its name in the Secret Service specification.
            /// `plain` means unencrypted.
            let algorithm: String
        }

        /// Connects to a bus, after checking that no other user could act as the bus.
        /// - Throws: ``KeyringFault`` with `untrusted`, `noBus`, `timedOut` or `cancelled`.
        init(address: String, _ files: any FileSystem, _ call: BusCall) throws(KeyringFault) {
            try BusAddress.requireTrust(in: address, files)
            _ = try call.milliseconds()
            var error: UnsafeMutablePointer<GError>?
            let flags = GDBusConnectionFlags(
                G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue)
            guard let connection = g_dbus_connection_new_for_address_sync(address, flags, nil, call.stop.pointer, &error) else {
                let fault = Self.fault(error)
                if fault.kind == .cancelled || fault.kind == .timedOut { throw fault }
                throw KeyringFault(
                    .noBus, "The session bus could not be reached (\(fault.detail)). Check DBUS_SESSION_BUS_ADDRESS and that the bus runs.")
            }
            self.address = address
            self.connection = connection
        }

        deinit {
            session.withLock { session in if let service = session?.service { g_object_unref(service) } }
            // Close without waiting, because a stopped bus must not block the lane (a serial queue).
            g_dbus_connection_close(connection, nil, nil, nil)
            g_object_unref(UnsafeMutableRawPointer(connection))
        }

        var isClosed: Bool { g_dbus_connection_is_closed(connection) != 0 }

        /// Sends a request and waits for its reply.
        /// - Parameters:
        ///   - other: The bus name of the receiver; nil for the daemon of this link (``keeper(_:)``).
        ///   - arguments: A tuple with a floating reference. The request takes ownership of it.
        ///   - finishingWithin: For a request that changes something: how many seconds beyond the deadline the
        ///     request waits for its reply, even if the caller has left. The store's lock is held during that time,
        ///     so no later change can reach the daemon before this one is finished.
        /// - Throws: ``KeyringFault``.
        func request(
            _ path: String, _ interface: String, _ method: String, _ arguments: OpaquePointer?, to other: String? = nil,
            reply: String, finishingWithin: Int64? = nil, _ call: BusCall
        ) throws(KeyringFault) -> Variant {
            let limit: Int32
            let destination: String
            do throws(KeyringFault) {
                destination = if let other { other } else { try keeper(call) }
                limit = try call.milliseconds(plusSeconds: finishingWithin ?? 0)
                if isClosed { throw KeyringFault(.noSession, "the connection was closed before") }
            } catch {
                if let arguments { g_variant_unref(g_variant_ref_sink(arguments)) }
                throw error
            }
            let type = g_variant_type_new(reply)
            defer { g_variant_type_free(type) }
            var error: UnsafeMutablePointer<GError>?
            let answer = g_dbus_connection_call_sync(
                connection, destination, path, interface, method, arguments, type, G_DBUS_CALL_FLAGS_NONE, limit,
                finishingWithin == nil ? call.stop.pointer : nil, &error)
            guard let answer else {
                var fault = Self.fault(error)
                fault.wasSent = true
                throw fault
            }
            return Variant(owning: answer)
        }

        /// A request to the daemon that changes nothing.
        struct Request {
            let path: String
            let interface: String
            let method: String
            /// A tuple with a floating reference.
            let arguments: OpaquePointer?
            let reply: String
        }

        /// Sends several requests without waiting in between, and waits for all replies. The bus delivers the requests
        /// in this order.
        /// - Throws: ``KeyringFault``: the fault of the first request that failed.
        func requests(_ requests: [Request], _ call: BusCall) throws(KeyringFault) -> [Variant] {
            let arguments = requests.map { $0.arguments.map { g_variant_ref_sink($0) } }
            defer { for case let value?? in arguments { g_variant_unref(value) } }
            let (destination, limit) = (try keeper(call), try call.milliseconds())
            if isClosed { throw KeyringFault(.noSession, "the connection was closed before") }
            let context = g_main_context_new()
            g_main_context_push_thread_default(context)
            defer {
                g_main_context_pop_thread_default(context)
                g_main_context_unref(context)
            }
            let replies = requests.map { _ in Reply() }
            for (request, reply) in zip(requests, replies) {
                let type = g_variant_type_new(request.reply)
                defer { g_variant_type_free(type) }
                g_dbus_connection_call(
                    connection, destination, request.path, request.interface, request.method, request.arguments, type,
                    G_DBUS_CALL_FLAGS_NONE, limit, call.stop.pointer,
                    { connection, result, reply in
                        guard let connection, let reply else { return }
                        Unmanaged<Reply>.fromOpaque(reply).takeRetainedValue().finish(OpaquePointer(connection), result)
                    }, Unmanaged.passRetained(reply).toOpaque())
            }
            while replies.contains(where: { $0.result == nil }) { g_main_context_iteration(context, 1) }
            var answers: [Variant] = []
            for reply in replies {
                switch reply.result {
                case .success(let answer): answers.append(answer)
                case .failure(let fault): throw fault
                case nil: throw KeyringFault(.refused, "no reply")
                }
            }
            return answers
        }

        /// The reply to one of several requests. Only the thread that waits for it uses it.
        private final class Reply {
            private(set) var result: Result<Variant, KeyringFault>?

            func finish(_ connection: OpaquePointer, _ outcome: OpaquePointer?) {
                var error: UnsafeMutablePointer<GError>?
                if let answer = g_dbus_connection_call_finish(connection, outcome, &error) {
                    result = .success(Variant(owning: answer))
                } else {
                    var fault = SecretLink.fault(error)
                    fault.wasSent = true
                    result = .failure(fault)
                }
            }
        }

        /// Returns the unique bus name of the daemon of this link. No other program ever gets this name. If no daemon
        /// is running, the bus starts one if it can.
        ///
        /// An item's path is valid only for the daemon that returned it. After a restart of KWallet, the path may be
        /// that of another item, because KWallet numbers its items again.
        func keeper(_ call: BusCall) throws(KeyringFault) -> String { try knownKeeper(call).name }

        /// Returns whether the daemon is gnome-keyring.
        func isKeptByGnome(_ call: BusCall) throws(KeyringFault) -> Bool {
            let keeper = try knownKeeper(call)
            return owners[Self.gnome].map { $0 == keeper.name } ?? keeper.isGnome
        }

        private func knownKeeper(_ call: BusCall) throws(KeyringFault) -> Keeper {
            if let known = keeper.withLock(\.self) { return known }
            try followOwners(of: [Self.daemon, Self.gnome], call)
            var found = try owner(of: Self.daemon, call)
            if found == nil {
                let arguments = Outgoing.tuple(Outgoing.text(Self.daemon), g_variant_new_uint32(0))
                _ = try askBus("StartServiceByName", arguments, reply: "(u)", call)
                found = try owner(of: Self.daemon, call)
            }
            guard let found else { throw KeyringFault(.noService, "the daemon ended when it was started") }
            let made = Keeper(name: found, isGnome: try owner(of: Self.gnome, call) == found)
            return keeper.withLock { keeper in
                keeper = keeper ?? made
                return keeper ?? made
            }
        }

        /// Returns whether the daemon of this link has ended or was replaced by another one, as far as the bus has
        /// signalled it. Sends no request.
        var isKnownSuperseded: Bool {
            guard let known = keeper.withLock(\.self), let owner = owners[Self.daemon] else { return false }
            return owner != known.name
        }

        /// Asks the bus whether the daemon of this link has ended or was replaced by another one.
        func isSuperseded(_ call: BusCall) throws(KeyringFault) -> Bool {
            guard let known = keeper.withLock(\.self) else { return false }
            return try owner(of: Self.daemon, call) != known.name
        }

        private static let serviceType = localdata_secret_service_type()
        static let daemon = "org.freedesktop.secrets"
        private static let gnome = "org.gnome.keyring"

        // MARK: libsecret's session

        /// Encodes a secret for the session with the daemon. Returns a floating reference.
        func encode(_ secret: [UInt8], _ call: BusCall) throws(KeyringFault) -> OpaquePointer {
            let service = try openSession(call).service
            let value = secret.withUnsafeBufferPointer { bytes in
                bytes.withMemoryRebound(to: gchar.self) { secret_value_new($0.baseAddress, gssize($0.count), "text/plain") }
            }
            defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
            guard let coded = secret_service_encode_dbus_secret(service, value) else {
                throw KeyringFault(.noSession, "the secret could not be coded")
            }
            return coded
        }

        /// Decodes a secret that the daemon sent.
        func decode(_ coded: Variant, _ call: BusCall) throws(KeyringFault) -> [UInt8] {
            let service = try openSession(call).service
            guard coded.signature == "(oayays)", let value = secret_service_decode_dbus_secret(service, coded.pointer) else {
                throw KeyringFault(.noSession, "the secret could not be decoded")
            }
            defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
            var count: gsize = 0
            guard let bytes = secret_value_get(value, &count) else { return [] }
            return bytes.withMemoryRebound(to: UInt8.self, capacity: Int(count)) {
                Array(UnsafeBufferPointer(start: $0, count: Int(count)))
            }
        }

        /// Returns the object path of the session.
        func sessionPath(_ call: BusCall) throws(KeyringFault) -> String {
            guard let path = secret_service_get_session_dbus_path(try openSession(call).service) else {
                throw KeyringFault(.noSession, "the session has no path")
            }
            return String(cString: path)
        }

        /// Returns whether the daemon was gnome-keyring when the session was opened (``isKeptByGnome(_:)``).
        func isGnomeKeyring(_ call: BusCall) throws(KeyringFault) -> Bool { try openSession(call).isGnomeKeyring }

        /// Returns the session for secrets, and opens it when it is first needed.
        /// - Throws: ``KeyringFault`` with `unencrypted` if libsecret fell back to a session without encryption and
        ///   the call does not allow it.
        private func openSession(_ call: BusCall) throws(KeyringFault) -> SessionBox {
            let opened = try anySession(call)
            // Reason: "A keyring without encrypted sessions is refused" in Docs/Decisions/Keyring.md.
            guard opened.algorithm != Self.unencrypted || call.allowsPlainTransport else {
                throw KeyringFault(.unencrypted, opened.algorithm)
            }
            return opened
        }

        private static let unencrypted = "plain"

        /// Returns the algorithm that encrypts secrets in transit, by its name in the Secret Service specification.
        /// Does not check whether the call allows it.
        func algorithm(_ call: BusCall) throws(KeyringFault) -> String { try anySession(call).algorithm }

        private func anySession(_ call: BusCall) throws(KeyringFault) -> SessionBox {
            if let opened = session.withLock({ $0 }) { return opened }
            var error: UnsafeMutablePointer<GError>?
            guard let service = localdata_secret_service_new(Self.serviceType, connection, call.stop.pointer, &error) else {
                throw Self.fault(error)
            }
            guard secret_service_ensure_session_sync(service, call.stop.pointer, &error) != 0 else {
                g_object_unref(service)
                let fault = Self.fault(error)
                // KWallet 5.103 refuses a public key that begins with a zero byte. One key in 256 begins so. Try again,
                // because the next session has another key.
                throw fault.kind == .refused ? KeyringFault(.noSession, "no session was opened: \(fault.detail)") : fault
            }
            let isGnomeKeyring: Bool
            do throws(KeyringFault) {
                isGnomeKeyring = try isKeptByGnome(call)
            } catch {
                g_object_unref(service)
                throw error
            }
            // Another lane may open a session at the same time. Two sessions do no harm, but one is enough.
            let algorithm = secret_service_get_session_algorithms(service).map { String(cString: $0) } ?? Self.unencrypted
            let opened = SessionBox(service: service, isGnomeKeyring: isGnomeKeyring, algorithm: algorithm)
            let kept = session.withLock { session in
                session = session ?? opened
                return session ?? opened
            }
            if kept.service != service { g_object_unref(service) }
            return kept
        }

        // MARK: Faults

        /// Converts a GLib error to a fault and frees the error. Nil becomes a fault too: libsecret sets no error if
        /// an argument is invalid.
        static func fault(_ error: UnsafeMutablePointer<GError>?) -> KeyringFault {
            guard let error else { return KeyringFault(.refused, "no reason was given") }
            defer { g_error_free(error) }
            let message = error.pointee.message.map { String(cString: $0) } ?? "unknown error"
            if let name = g_dbus_error_get_remote_error(error) {
                defer { g_free(name) }
                let name = String(cString: name)
                // KWallet sends this text under two error names. It also sends the text if it has derived a wrong key
                // for the session.
                // Reason: "A session that KWallet rejects is opened again" in Docs/Decisions/Keyring.md.
                return KeyringFault(message.contains("Can't find session") ? .noSession : kind(ofRemote: name), name)
            }
            guard error.pointee.domain == g_io_error_quark() else { return KeyringFault(.refused, message) }
            switch UInt32(bitPattern: error.pointee.code) {
            case G_IO_ERROR_TIMED_OUT.rawValue: return KeyringFault(.timedOut, "deadline")
            case G_IO_ERROR_CANCELLED.rawValue: return KeyringFault(.cancelled, "cancelled")
            case G_IO_ERROR_CLOSED.rawValue, G_IO_ERROR_BROKEN_PIPE.rawValue: return KeyringFault(.disconnected, message)
            case G_IO_ERROR_PERMISSION_DENIED.rawValue: return KeyringFault(.denied, message)
            default: return KeyringFault(.refused, message)
            }
        }

        private static func kind(ofRemote name: String) -> KeyringFault.Kind {
            switch name {
            case "org.freedesktop.Secret.Error.IsLocked": .locked
            case "org.freedesktop.Secret.Error.NoSession": .noSession
            case "org.freedesktop.Secret.Error.NoSuchObject", "org.freedesktop.DBus.Error.UnknownMethod",
                "org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownInterface":
                .vanished
            case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner": .noService
            case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Disconnected": .noReply
            case "org.freedesktop.DBus.Error.Timeout", "org.freedesktop.DBus.Error.TimedOut": .timedOut
            case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.AuthFailed",
                "org.freedesktop.portal.Error.NotAllowed":
                .denied
            default: name.hasPrefix("org.freedesktop.DBus.Error.Spawn.") ? .noService : .refused
            }
        }
    }
#endif
