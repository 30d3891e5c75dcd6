#if PostgreSQL
    import BackendContract

    /// An error of the server or of the connection to it.
    struct ServerFault: Error {
        /// The SQLSTATE of the server (PostgreSQL documentation, appendix A). Connection errors of this library use the
        /// class 08, and its errors about older rows use the class LD.
        let state: String
        /// The first line of the server's message. It contains no parameter of a statement.
        let message: String
        /// Whether the connection cannot be used any more.
        var isConnectionLost: Bool

        init(_ state: String, _ message: String, isConnectionLost: Bool = false) {
            (self.state, self.message) = (state, message)
            self.isConnectionLost = isConnectionLost || state.hasPrefix("08") || ["57P01", "57P02", "57P03", "57P05"].contains(state)
        }

        /// The connection was lost.
        static func lost(_ message: String) -> ServerFault { ServerFault("08006", message, isConnectionLost: true) }

        /// The server did not answer before the deadline.
        static let silent = ServerFault("08L01", "The server did not answer before the deadline.", isConnectionLost: true)

        /// Whether the server did not answer before the deadline.
        var isSilence: Bool { state == Self.silent.state }

        /// Whether the same transaction may succeed if it is repeated at once: a serialization failure, a deadlock, a row
        /// that another transaction has inserted, or a lock that was not available.
        var isRetriable: Bool { ["40001", "40P01", "23505", "55P03"].contains(state) }

        /// Whether the row's data key was destroyed, because another machine has replaced it.
        var isKeyGone: Bool { state == "23503" }

        /// Whether the tables do not exist.
        var isSchemaMissing: Bool { ["42P01", "3F000"].contains(state) }

        /// Whether a new connection may succeed soon. It does not if the server refuses the client or another cluster
        /// answers, or if the deadline has passed.
        var isLinkLost: Bool {
            ["08000", "08001", "08003", "08004", "08006", "08L05", "25006", "55000"].contains(state) || state.hasPrefix("57P")
        }

        /// The error for the caller.
        func backendError(outcome: MutationOutcome = .notApplied) -> BackendError {
            let (code, remedy) = cause
            let advice =
                outcome == .unknown ? "The change may still take effect: read before you repeat it." : "Nothing was changed."
            return BackendError(code, "PostgreSQL: \(message) (\(state)). \(remedy) \(advice)", outcome: outcome)
        }

        private var cause: (BackendError.Code, String) {
            switch state {
            case "08L01", "57014", "25P03": (.timedOut, "Try again, or allow more time with PostgreSQLServer.deadline.")
            case "08L02":
                (.untrusted, "Set sslrootcert to the certificate of the issuer, and renew the server's certificate if it has expired.")
            case "08L03": (.unsupported, "Correct the connection string.")
            case "08L04": (.incompatibleServer, "Connect to the cluster that this program used before, or start the program again.")
            case "25006", "55000", "08L05":
                (.unavailable, "The server accepts no writes, because it is a standby or read-only. Name the primary, or all hosts.")
            case "LD001":
                (
                    .unavailable,
                    "A standby was promoted or a copy was restored, so a value that is missing may be lost. Restore what is lost, then call StorageRouter.acceptFailover()."
                )
            case "LD002":
                (
                    .rolledBack,
                    "A standby was promoted or a copy was restored. Restore what is lost, or accept the loss with StorageRouter.acceptFailover()."
                )
            case "LD003": (.unavailable, "Allow an older result, or read from the primary.")
            case Self.dropState:
                (.incompatibleServer, "A trigger or a rule of the table may have dropped it. Remove the trigger or the rule.")
            case "LD005":
                (.incompatibleServer, "Disable row-level security for the tables, or give the role the attribute BYPASSRLS.")
            case "28000", "28P01": (.accessDenied, "Check the role, its password and pg_hba.conf.")
            case "42501": (.accessDenied, "Grant the role the rights that Docs/Formats.md lists.")
            case "3D000": (.unavailable, "Create the database, or correct dbname.")
            case "23503": (.keyInUse, "Rows are sealed with this key.")
            case "53100": (.noSpace, "Free space on the server's disk.")
            case "53300": (.unavailable, "Raise max_connections, or put a pooler in front of the server.")
            case "57P01", "57P02", "57P03": (.unavailable, "The server is starting or stopping. Try again.")
            case "42P01", "3F000", "42703":
                (.incompatibleServer, "Create or upgrade the tables with a role that may, as Docs/Formats.md describes.")
            case _ where state.hasPrefix("08"): (.unavailable, "Check that the server runs and can be reached.")
            case _ where state.hasPrefix("53"): (.unavailable, "The server lacks a resource. Try again later.")
            case _ where isRetriable: (.timedOut, "Other transactions changed the same values. Try again.")
            default: (.failed, "See the log of the server.")
            }
        }
    }

    extension BackendError.Code {
        /// The server, or its schema, is not the one that the program expects.
        static let incompatibleServer = BackendError.Code("incompatibleSchema")
    }
#endif
