#if Keyring && os(Linux)
    import BackendContract

    /// A failed request to the keyring: its cause, and whether the link (the connection to the daemon) can still be
    /// used.
    struct KeyringFault: Error {
        enum Kind {
            /// The item, its collection or the whole store is locked.
            case locked
            /// An object, such as an item, does not exist, or it changed during the call.
            case vanished
            /// The session bus is missing, refused or unreachable, or there is no default collection. The detail is a
            /// sentence for the user.
            case noBus
            /// Another user could act as the session bus.
            case untrusted
            /// No program on the bus offers the Secret Service.
            case noService
            /// The session, whose key encrypts secrets on the bus, cannot be used. Either the daemon was restarted
            /// and has no such session, or the daemon has another key for it.
            case noSession
            /// The daemon sends and accepts secrets only unencrypted, and the call does not allow this.
            case unencrypted
            /// The daemon stored other bytes than it was given, or a portal gave bytes that are not a secret.
            case garbled
            /// The daemon would change other items together with this one. The detail is their number.
            case shared
            /// The connection is closed.
            case disconnected
            /// The daemon ended without a reply.
            case noReply
            /// The deadline passed.
            case timedOut
            /// The caller left: it no longer waits for the result.
            case cancelled
            /// The user closed the prompt.
            case dismissed
            /// No program can show a prompt.
            case noPrompter
            /// The bus or the daemon refused access.
            case denied
            /// Anything else.
            case refused
        }

        let kind: Kind
        /// The name of the error, an error text of GLib, or another text about the cause. Contains no part of any
        /// value.
        let detail: String
        /// Whether the request was handed to the bus.
        var wasSent = false

        init(_ kind: Kind, _ detail: String) {
            self.kind = kind
            self.detail = detail
        }

        /// Whether this fault means that the link is unusable, so that a read may be retried once over a new link.
        var isStale: Bool {
            switch kind {
            case .noService, .noSession, .garbled, .disconnected, .noReply: true
            default: false
            }
        }

        /// Whether the request that failed with this fault was certainly not performed.
        var isCertainlyNotDone: Bool {
            guard wasSent else { return true }
            return switch kind {
            case .locked, .vanished, .noBus, .untrusted, .unencrypted, .noService, .noSession, .denied: true
            default: false
            }
        }

        /// Returns the corresponding backend error.
        func backendError(outcome: MutationOutcome = .notApplied) -> BackendError {
            switch kind {
            case .locked:
                BackendError(.locked, "The keyring is locked. Unlock it (unlock, or your keyring program) and try again.", outcome: outcome)
            case .noBus:
                BackendError(.unavailable, detail, outcome: outcome)
            case .untrusted:
                BackendError(.untrusted, detail, outcome: outcome)
            case .unencrypted:
                BackendError(
                    .untrusted,
                    "The keyring program of this session does not encrypt secrets on their way (\(detail)): any program that can watch the session bus would see them. Use "
                        + "gnome-keyring, oo7, KWallet or KeePassXC, or allow it with StorageConfiguration.allowsUnencryptedKeychainTransport. No "
                        + "secret was sent.", outcome: outcome)
            case .noService:
                BackendError(
                    .unavailable,
                    "No program on the session bus keeps secrets (\(detail)). Install and start gnome-keyring, oo7, KWallet or KeePassXC, then try again.",
                    outcome: outcome)
            case .vanished:
                BackendError(.unavailable, "The keyring changed while it was read (\(detail)). Try again.", outcome: outcome)
            case .disconnected, .noReply:
                BackendError(.unavailable, "The keyring's program ended (\(detail)). \(advice(outcome))", outcome: outcome)
            case .noSession, .garbled:
                BackendError(.unavailable, "The session with the keyring is not usable (\(detail)). \(advice(outcome))", outcome: outcome)
            case .timedOut:
                BackendError(.timedOut, "The keyring did not answer before the deadline. \(advice(outcome))", outcome: outcome)
            case .cancelled:
                BackendError(.cancelled, "The caller left before the keyring answered. \(advice(outcome))", outcome: outcome)
            case .dismissed:
                BackendError(
                    .promptDismissed, "The keyring is still locked: \(detail). Unlock it again when you are ready.", outcome: outcome)
            case .noPrompter:
                BackendError(
                    .locked,
                    "The keyring is locked, and no program of this session can ask for its password. Install gcr, or unlock the keyring "
                        + "without a prompt: \(Self.unlockCommand).", outcome: outcome)
            case .denied:
                BackendError(
                    .accessDenied, "Access to the keyring was refused (\(detail)). Check the session bus and its owner.", outcome: outcome)
            case .shared:
                BackendError(
                    .ambiguous,
                    "Other items of the keyring (\(detail)) have all attributes of this item and further ones, and its program, oo7, would "
                        + "remove them from its file too. Nothing was changed. Give these items other attributes in the program that made "
                        + "them, or remove them.", outcome: outcome)
            case .refused:
                BackendError(.failed, "The keyring refused the request (\(detail)). \(advice(outcome))", outcome: outcome)
            }
        }

        /// The command that unlocks gnome-keyring without a display. Without `--replace`, it has no effect while a daemon runs.
        static let unlockCommand =
            "gnome-keyring-daemon --replace --unlock --components=secrets, which reads the password from its standard input"

        private func advice(_ outcome: MutationOutcome) -> String {
            outcome == .unknown ? "The change may have taken effect: read before repeating it." : "Nothing was changed; try again."
        }
    }
#endif
