#if Keyring && os(Linux)
    package import BackendContract
    package import BackendRuntime
    import CLibSecret
    import Glibc

    /// A client of the portal that gives a sandboxed program (Flatpak, Snap) its secret. The interface is
    /// `org.freedesktop.portal.Secret`, version 1, of xdg-desktop-portal.
    ///
    /// The secret belongs to the application that the portal identifies, and is sent over a pipe. The portal stores
    /// it in the user's keyring, and creates it at the first request. The portal may open a prompt to unlock the
    /// keyring. It does not report whether the secret existed before.
    ///
    /// Each request has a separate connection, and runs on a lane (a serial queue) that no store uses. The caller
    /// returns on time even if the portal or the bus does not respond.
    package final class SecretPortal: Sendable {
        private let lane: any Lane
        private let runtime: Runtime

        /// The accepted sizes of a secret in bytes. Portals give 64 bytes. A secret of less than 16 bytes can be
        /// guessed, and a reply of more than 4,096 bytes cannot be the secret of a portal.
        package static let sizes = 16...4_096

        /// Creates the client; nothing is opened.
        /// - Parameter runtime: The clock, the randomness and the lane.
        package init(runtime: Runtime = .live) {
            self.runtime = runtime
            lane = runtime.makeLane("secret-portal")
        }

        /// Requests the secret and passes it to a closure, which runs on the portal's lane. The secret is overwritten
        /// afterwards.
        /// - Parameter limit: How long the call may take, including the time in the queue.
        /// - Throws: ``BackendError``. The code is `unavailable` if there is no bus or portal, or if the portal
        ///   ended. It is `failed` if the response is not a secret. Other codes are `promptDismissed`,
        ///   `accessDenied`, `untrusted`, `timedOut` and `cancelled`.
        package func withSecret<R: Sendable>(
            within limit: Duration, _ body: @escaping @Sendable (UnsafeRawBufferPointer) -> R
        ) async throws(BackendError) -> R {
            let runtime = runtime
            return try await lane.run(clock: runtime.clock, deadline: runtime.deadline(after: limit), isMutation: false) {
                call throws(BackendError) in
                do throws(KeyringFault) {
                    let call = BusCall(call, clock: runtime.clock, allowsPlainTransport: false)
                    let address = try BusAddress.session()
                    let link = try SecretLink(address: address, runtime.files, call)
                    let secret = try SecretPipe(atMost: Self.sizes.upperBound)
                    try link.retrieveSecret(into: secret, named: hexadecimalText(of: runtime.randomBytes(8)), call)
                    guard Self.sizes.contains(secret.count) else {
                        throw KeyringFault(.garbled, "it has \(secret.count) bytes, and a secret at least \(Self.sizes.lowerBound)")
                    }
                    return secret.withBytes(body)
                } catch {
                    throw Self.backendError(error)
                }
            }
        }

        private static func backendError(_ fault: KeyringFault) -> BackendError {
            let (code, text): (BackendError.Code, String) =
                switch fault.kind {
                case .noBus: (.unavailable, fault.detail)
                case .untrusted: (.untrusted, fault.detail)
                case .noService:
                    (
                        .unavailable,
                        "No program on the session bus is a portal (\(fault.detail)). Install xdg-desktop-portal, and start it in the session outside the sandbox. Outside a sandbox, use the key source .keychain."
                    )
                case .vanished:
                    (
                        .unavailable,
                        "The portal of this session gives no secrets (\(fault.detail)). Install a keyring that serves org.freedesktop.impl.portal.Secret, such as gnome-keyring, and let portals.conf name it."
                    )
                case .locked:
                    (.unavailable, "The portal could not open the keyring (\(fault.detail)). Unlock the keyring, and try again.")
                case .dismissed:
                    (.promptDismissed, "The prompt for the secret of this application was closed. Try again when you are ready.")
                case .denied: (.accessDenied, "The portal refused this application its secret (\(fault.detail)). Check its permissions.")
                case .timedOut:
                    (
                        .timedOut,
                        "The portal did not answer before the deadline. It may be waiting for the password of the keyring. Call unlock, which waits longer."
                    )
                case .cancelled: (.cancelled, "The caller left before the portal answered.")
                case .disconnected, .noReply: (.unavailable, "The portal ended before it gave a secret (\(fault.detail)). Try again.")
                case .garbled: (.failed, "The answer of the portal is not a secret: \(fault.detail). No key was made from it.")
                default: (.failed, "The portal refused the request (\(fault.detail)). Try again.")
                }
            return BackendError(code, "\(text) Nothing was changed.")
        }
    }

    /// The pipe for a secret, and the memory that it is read into. Used on one thread.
    private final class SecretPipe {
        private let memory: UnsafeMutableRawBufferPointer
        private let limit: Int
        private let reading: Int32
        private var writing: Int32
        private(set) var count = 0
        /// Whether all processes have closed the writing end.
        private(set) var isAtEnd = false

        init(atMost limit: Int) throws(KeyringFault) {
            var ends: [Int32] = [-1, -1]
            // Use a pair of sockets, which gets close-on-exec when it is created. With `pipe` it is set later, so a
            // program that starts in between would inherit the writing end.
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw KeyringFault(.refused, "no pipe could be made") }
            // Set only the reading end to non-blocking. Other programs expect a writing end that blocks.
            _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
            (reading, writing) = (ends[0], ends[1])
            self.limit = limit
            // Allocate one byte more than the limit, to detect a secret that is too long.
            memory = .allocate(byteCount: limit + 1, alignment: 8)
        }

        deinit {
            wipe(memory)
            memory.deallocate()
            close(reading)
            if writing >= 0 { close(writing) }
        }

        /// Passes the writing end to a closure and closes it afterwards. The reader sees the end of the secret only
        /// when the portal has also closed its copy of the writing end.
        func withWritingEnd<R>(_ body: (Int32) throws(KeyringFault) -> R) throws(KeyringFault) -> R {
            defer {
                close(writing)
                writing = -1
            }
            return try body(writing)
        }

        /// Reads the available bytes without waiting.
        /// - Throws: ``KeyringFault`` with `garbled` if there are more bytes than the limit.
        func readOn() throws(KeyringFault) {
            while !isAtEnd {
                let rest = UnsafeMutableRawBufferPointer(rebasing: memory[count...])
                let taken = read(reading, rest.baseAddress, rest.count)
                if taken < 0, errno == EINTR { continue }
                if taken < 0, errno == EAGAIN { return }
                guard taken >= 0 else { throw KeyringFault(.refused, "the pipe could not be read") }
                isAtEnd = taken == 0
                count += taken
                guard count <= limit else { throw KeyringFault(.garbled, "it is longer than \(limit) bytes") }
            }
        }

        func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
            body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
        }
    }

    /// The received `Response` signals of portals. Used only on the thread that waits for such a signal.
    private final class PortalResponses {
        struct Response {
            let sender: String
            let request: String
            let code: UInt64?
        }

        var all: [Response] = []
    }

    extension SecretLink {
        /// Requests that the portal writes the secret into a pipe, and waits until the secret is complete.
        /// - Parameter token: The last part of the request's path.
        /// - Throws: ``KeyringFault``, also if the portal ends during the wait.
        fileprivate func retrieveSecret(into pipe: SecretPipe, named token: String, _ call: BusCall) throws(KeyringFault) {
            // Subscribe with a separate main context (an event queue of GLib). GDBus then calls the handler of a signal
            // only while this function runs this context, and on this thread. So `responses` needs no lock.
            let context = g_main_context_new()
            g_main_context_push_thread_default(context)
            let responses = PortalResponses()
            // Subscribe to every sender, because the bus may start the portal only for this request. The sender is
            // checked below.
            let subscription = g_dbus_connection_signal_subscribe(
                connection, nil, Self.requestInterface, "Response", nil, nil, G_DBUS_SIGNAL_FLAGS_NONE,
                { _, sender, path, _, _, parameters, responses in
                    guard let sender, let path, let parameters, let responses else { return }
                    let answer = Variant(owning: g_variant_ref(parameters))
                    Unmanaged<PortalResponses>.fromOpaque(responses).takeUnretainedValue().all.append(
                        .init(sender: String(cString: sender), request: String(cString: path), code: answer[0]?.number))
                }, Unmanaged.passUnretained(responses).toOpaque(), nil)
            defer {
                g_dbus_connection_signal_unsubscribe(connection, subscription)
                // Deliver the pending signals now, because their handler refers to `responses`.
                withExtendedLifetime(responses) { while g_main_context_iteration(context, 0) != 0 {} }
                g_main_context_pop_thread_default(context)
                g_main_context_unref(context)
            }
            let request = try pipe.withWritingEnd { end throws(KeyringFault) in try requestSecret(over: end, named: token, call) }
            guard let portal = try owner(of: Self.portal, call) else { throw KeyringFault(.noReply, "the portal ended") }
            do throws(KeyringFault) {
                var round = 0
                var isGiven = false
                while !(isGiven && pipe.isAtEnd) {
                    try pipe.readOn()
                    if g_main_context_iteration(context, 0) != 0 {
                        // Ignore the response of another program or to another request.
                        // Reason: "A portal is asked once, and its response is checked" in Docs/Decisions/Keyring.md.
                        if let response = responses.all.first(where: { $0.sender == portal && $0.request == request }) {
                            try requireSuccess(response)
                            isGiven = true
                        }
                        continue
                    }
                    if isClosed { throw KeyringFault(.disconnected, "the connection was closed") }
                    round += 1
                    if round % 40 == 0, !isGiven, try owner(of: Self.portal, call) != portal {
                        throw KeyringFault(.noReply, "the portal ended")
                    }
                    _ = try call.milliseconds()
                    call.pause()
                }
            } catch {
                // Cancel the request, and with it a prompt that the portal may have opened. Do not wait for the
                // reply.
                g_dbus_connection_call(
                    connection, portal, request, Self.requestInterface, "Close", nil, nil, G_DBUS_CALL_FLAGS_NO_AUTO_START, 1_000, nil, nil,
                    nil)
                // The connection is closed after this call. Without a flush, the message would be lost.
                g_dbus_connection_flush_sync(connection, nil, nil)
                throw error
            }
        }

        /// Sends the request.
        /// - Returns: The path of the request object, which sends the response.
        private func requestSecret(over descriptor: Int32, named token: String, _ call: BusCall) throws(KeyringFault) -> String {
            let limit = try call.milliseconds()
            let type = g_variant_type_new("(o)")
            defer { g_variant_type_free(type) }
            let options = Outgoing.properties([("handle_token", Outgoing.text("localdata_\(token)"))])
            var error: UnsafeMutablePointer<GError>?
            let reply = localdata_call_with_descriptor(
                connection, Self.portal, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.Secret", "RetrieveSecret",
                Outgoing.tuple(g_variant_new_handle(0), options), type, limit, descriptor, call.stop.pointer, &error)
            guard let reply else { throw Self.fault(error) }
            guard let request = Variant(owning: reply)[0]?.text else { throw KeyringFault(.refused, "no request in the reply") }
            return request
        }

        /// Throws unless the response reports success. Source of the numbers: the documentation of
        /// org.freedesktop.portal.Request.
        private func requireSuccess(_ response: PortalResponses.Response) throws(KeyringFault) {
            switch response.code {
            case 0: return
            case 1: throw KeyringFault(.dismissed, "response 1")
            case let code: throw KeyringFault(.locked, "response \(code.map(String.init) ?? "without a number")")
            }
        }

        private static let portal = "org.freedesktop.portal.Desktop"
        private static let requestInterface = "org.freedesktop.portal.Request"
    }
#endif
