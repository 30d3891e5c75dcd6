#if Keyring && os(Linux)
    import CLibSecret

    /// The end of a prompt, as the prompt's signal `Completed` reports it. Used only on the thread that waits for the
    /// signal.
    private final class PromptEnd {
        var isOver = false
        var isDismissed = false
        /// The result of the prompt.
        var result: Variant?
    }

    extension SecretLink {
        /// Unlocks collections, or the collections of items. If the daemon requires a prompt, shows it and waits
        /// until the prompt, the daemon or the bus ends. The caller must then check whether the collections are
        /// unlocked.
        ///
        /// The prompt is never dismissed, even if the caller has left (no longer waits), because the user may still
        /// answer it. In addition, gnome-keyring 42 aborts when an open unlock prompt is dismissed (an assertion in
        /// perform_next_unlock).
        func unlock(_ paths: [String], _ call: BusCall) throws(KeyringFault) {
            let reply = try request(
                SecretServiceClient.root, SecretServiceClient.service, "Unlock", Outgoing.tuple(Outgoing.paths(paths)), reply: "(aoo)", call
            )
            guard let prompt = reply[1]?.text, prompt != SecretServiceClient.nothing else { return }
            do throws(KeyringFault) {
                _ = try perform(prompt, call, staysOpen: true)
            } catch {
                if error.kind != .locked { throw error }
            }
        }

        /// Performs a prompt, and waits until the daemon reports its end, for example after the user's answer. If the
        /// deadline passes first, dismisses the prompt.
        ///
        /// The requests are sent directly, because libsecret's function never returns if the daemon or the bus ends
        /// while the prompt is open.
        /// - Parameter staysOpen: Whether to wait beyond the deadline and never dismiss the prompt.
        /// - Returns: The result of the prompt.
        /// - Throws: ``KeyringFault`` with `locked` if the prompt was dismissed. After any other fault, the change
        ///   that the prompt is for may have happened.
        func perform(_ prompt: String, _ call: BusCall, staysOpen: Bool = false) throws(KeyringFault) -> Variant? {
            // Subscribe with a separate main context (an event queue of GLib). GDBus then calls the handler of a signal
            // only while this function runs this context, and on this thread. So `end` needs no lock.
            let context = g_main_context_new()
            g_main_context_push_thread_default(context)
            let end = PromptEnd()
            let subscription = g_dbus_connection_signal_subscribe(
                connection, nil, Self.promptInterface, "Completed", prompt, nil, G_DBUS_SIGNAL_FLAGS_NONE,
                { _, _, _, _, _, parameters, end in
                    guard let parameters, let end else { return }
                    let (told, answer) = (
                        Unmanaged<PromptEnd>.fromOpaque(end).takeUnretainedValue(), Variant(owning: g_variant_ref(parameters))
                    )
                    told.isOver = true
                    told.isDismissed = answer[0]?.flag != false
                    told.result = answer[1]?.inner
                }, Unmanaged.passUnretained(end).toOpaque(), nil)
            defer {
                g_dbus_connection_signal_unsubscribe(connection, subscription)
                // Deliver the pending signals now, because their handler refers to `end`.
                withExtendedLifetime(end) { while g_main_context_iteration(context, 0) != 0 {} }
                g_main_context_pop_thread_default(context)
                g_main_context_unref(context)
            }
            do throws(KeyringFault) {
                _ = try request(prompt, Self.promptInterface, "Prompt", Outgoing.tuple(Outgoing.text("")), reply: "()", call)
                var round = 0
                while !end.isOver {
                    if g_main_context_iteration(context, 0) != 0 { continue }
                    if isClosed { throw KeyringFault(.disconnected, "the connection was closed while a prompt was open") }
                    // A daemon that has ended never completes its prompt.
                    // Reason: "Prompts are awaited without libsecret" in Docs/Decisions/Keyring.md.
                    round += 1
                    if round % 40 == 0, try hasKeeperEnded(staysOpen ? call.afterwards() : call) {
                        throw KeyringFault(.noReply, "the daemon ended")
                    }
                    if !staysOpen { _ = try call.milliseconds() }
                    call.pause()
                }
            } catch {
                var fault = error
                fault.wasSent = true
                if !staysOpen { dismiss(prompt, call) }
                throw fault
            }
            if end.isDismissed { throw KeyringFault(.locked, "the prompt was dismissed") }
            return end.result
        }

        /// Returns whether the daemon has ended. Returns false if the bus does not answer in time.
        private func hasKeeperEnded(_ call: BusCall) throws(KeyringFault) -> Bool {
            do throws(KeyringFault) {
                return try isSuperseded(call)
            } catch {
                guard error.kind == .timedOut else { throw error }
                return false
            }
        }

        /// Dismisses a prompt without waiting for the reply.
        private func dismiss(_ prompt: String, _ call: BusCall) {
            guard let keeper = try? keeper(call) else { return }
            g_dbus_connection_call(
                connection, keeper, prompt, Self.promptInterface, "Dismiss", nil, nil, G_DBUS_CALL_FLAGS_NONE, 1_000, nil, nil, nil)
        }

        /// Returns the unique bus name of the program that owns a name; nil if no program owns it.
        func owner(of name: String, _ call: BusCall) throws(KeyringFault) -> String? {
            do throws(KeyringFault) {
                return try askBus("GetNameOwner", Outgoing.tuple(Outgoing.text(name)), reply: "(s)", call)[0]?.text
            } catch {
                guard error.kind == .noService else { throw error }
                return nil
            }
        }

        static let promptInterface = "org.freedesktop.Secret.Prompt"
    }
#endif
