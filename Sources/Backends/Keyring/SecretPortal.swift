#if Keyring && os(Linux)
    package import BackendContract
    package import BackendRuntime
    import CLibSecret
    import Glibc

    /// The portal that gives a program in a sandbox (Flatpak, Snap) a secret of its own: `org.freedesktop.portal.Secret`, version 1, of
    /// xdg-desktop-portal.
    ///
    /// The secret belongs to the application, as the portal knows it, and comes over a pipe. The portal keeps it in the person's keyring, makes it
    /// when it is first asked for, and may open a prompt to unlock the keyring. Whether there was a secret before, it does not say.
    ///
    /// Each request has a connection of its own and a lane that no other store uses; the caller returns on time, whatever portal and bus do.
    package final class SecretPortal: Sendable {
        private let lane: any Lane
        private let runtime: Runtime

        /// The number of bytes of a secret that is taken: portals give 64. A shorter one can be guessed, and a longer one is not what was asked for.
        package static let sizes = 16...4_096

        /// Creates the portal's client; nothing is opened.
        /// - Parameter runtime: Time, randomness, and the lane.
        package init(runtime: Runtime = .live) {
            self.runtime = runtime
            lane = runtime.makeLane("secret-portal")
        }

        /// Asks the portal for the secret, and lends it to a closure, which runs on the portal's lane. It is overwritten afterwards.
        /// - Parameter limit: How long the call may take, waiting in line included.
        /// - Throws: ``BackendError``: `unavailable` without a bus or a portal, or when the portal ended; `promptDismissed`, `accessDenied`, `untrusted`,
        ///   `timedOut`, `cancelled`; `failed` for an answer that is no secret.
        package func withSecret<R: Sendable>(
            within limit: Duration, _ body: @escaping @Sendable (UnsafeRawBufferPointer) -> R
        ) async throws(BackendError) -> R {
            let runtime = runtime
            return try await lane.run(clock: runtime.clock, deadline: runtime.deadline(after: limit), isMutation: false) {
                call throws(BackendError) in
                do throws(KeyringFault) {
                    let call = BusCall(call, clock: runtime.clock, allowsPlainTransport: false)
                    let address = try BusAddress.session()
                    try BusAddress.requireTrust(in: address, runtime.files)
                    let link = try SecretLink(address: address, call)
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
                        "The portal did not answer before the deadline. It may ask for the password of the keyring: unlock waits longer for that."
                    )
                case .cancelled: (.cancelled, "The caller left before the portal answered.")
                case .disconnected, .noReply: (.unavailable, "The portal ended before it gave a secret (\(fault.detail)). Try again.")
                case .garbled: (.failed, "What the portal gave is no secret: \(fault.detail). No key was made from it.")
                default: (.failed, "The portal refused the request (\(fault.detail)). Try again.")
                }
            return BackendError(code, "\(text) Nothing was changed.")
        }
    }

    /// What a secret comes over, and the memory that it is read into. Used on one thread.
    private final class SecretPipe {
        private let memory: UnsafeMutableRawBufferPointer
        private let limit: Int
        private let reading: Int32
        private var writing: Int32
        private(set) var count = 0
        /// Whether everybody has closed the writing end.
        private(set) var isAtEnd = false

        init(atMost limit: Int) throws(KeyringFault) {
            var ends: [Int32] = [-1, -1]
            // A pair of sockets, as a pipe cannot be made so that a program which is started meanwhile gets no copy of the writing end.
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw KeyringFault(.refused, "no pipe could be made") }
            // The end that is given away stays as other programs expect it: it blocks.
            _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
            (reading, writing) = (ends[0], ends[1])
            self.limit = limit
            // One byte more, which tells that there is too much.
            memory = .allocate(byteCount: limit + 1, alignment: 8)
        }

        deinit {
            wipe(memory)
            memory.deallocate()
            close(reading)
            if writing >= 0 { close(writing) }
        }

        /// Lends the writing end, and closes it: the end of the secret is seen once the portal has closed its own.
        func withWritingEnd<R>(_ body: (Int32) throws(KeyringFault) -> R) throws(KeyringFault) -> R {
            defer {
                close(writing)
                writing = -1
            }
            return try body(writing)
        }

        /// Reads what has come, without waiting.
        /// - Throws: ``KeyringFault`` with `garbled` for more than the limit.
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

    /// The signals `Response` of portals that came in. Used on the thread that waits for one alone.
    private final class PortalResponses {
        struct Response {
            let sender: String
            let request: String
            let code: UInt64?
        }

        var all: [Response] = []
    }

    extension SecretLink {
        /// Has the portal write the secret into a pipe, and waits until it has.
        /// - Parameter token: The last part of the request's path.
        /// - Throws: ``KeyringFault``, also when the portal ends meanwhile.
        fileprivate func retrieveSecret(into pipe: SecretPipe, named token: String, _ call: BusCall) throws(KeyringFault) {
            // Signals are told to the thread that subscribes, while it runs this context.
            let context = g_main_context_new()
            g_main_context_push_thread_default(context)
            let responses = PortalResponses()
            // From any sender: who is the portal is looked up afterwards, since the bus may start it for this request.
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
                // What still waits to be told refers to the responses.
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
                        // Another program's answer counts for nothing.
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
                // Takes the request back, and with it a prompt, without waiting for anything.
                g_dbus_connection_call(
                    connection, portal, request, Self.requestInterface, "Close", nil, nil, G_DBUS_CALL_FLAGS_NO_AUTO_START, 1_000, nil, nil,
                    nil)
                // The connection ends with the call, and takes with it what was not sent.
                g_dbus_connection_flush_sync(connection, nil, nil)
                throw error
            }
        }

        /// Sends the request.
        /// - Returns: Its path, which the response comes from.
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

        /// Source of the numbers: the documentation of org.freedesktop.portal.Request.
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
