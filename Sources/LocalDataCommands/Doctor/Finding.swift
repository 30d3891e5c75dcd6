/// The result of one check of `localdata doctor`.
struct Finding: Encodable, Sendable {
    /// How serious a finding is.
    enum Grade: String, Encodable, Sendable {
        /// The check found no fault.
        case ok
        /// Programs work, but something should be improved.
        case warning
        /// Programs fail, or will fail.
        case problem
    }

    /// The object that was checked: `keyring`, `database documents`, `folder /var/lib/example`.
    let check: String
    /// The grade.
    let finding: Grade
    /// One sentence that describes the state of the object.
    let message: String
    /// The shell command that corrects the problem; nil if no command can.
    let command: String?

    static func ok(_ check: String, _ message: String) -> Finding {
        Finding(check: check, finding: .ok, message: message, command: nil)
    }

    static func warning(_ check: String, _ message: String, _ command: String? = nil) -> Finding {
        Finding(check: check, finding: .warning, message: message, command: command)
    }

    static func problem(_ check: String, _ message: String, _ command: String? = nil) -> Finding {
        Finding(check: check, finding: .problem, message: message, command: command)
    }

    /// A copy in which a problem is only a warning, because the program may not need the object.
    var asWarning: Finding {
        finding == .problem ? .warning(check, message, command) : self
    }
}
