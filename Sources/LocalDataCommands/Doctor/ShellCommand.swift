import BackendRuntime
import Foundation

/// Builds the commands that `localdata doctor` prints. Each is complete, and quoted for a POSIX shell.
enum ShellCommand {
    /// Joins words to a command, and quotes the words that the shell would change.
    static func line(_ words: [String]) -> String { words.map(quoted).joined(separator: " ") }

    /// Quotes a word for the shell, if that is necessary.
    static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: "_@%+=:,./-".utf8.contains(byte)
            }
        }
        if isPlain, !word.isEmpty { return word }
        return "'" + word.replacingOccurrences(of: "'", with: #"'\''"#) + "'"
    }

    /// The name or the path under which this tool was started. A relative path is made absolute.
    static var program: String {
        let name = CommandLine.arguments.first ?? "localdata"
        return name.contains("/") ? URL(fileURLWithPath: name).standardizedFileURL.path : name
    }

    /// The words that repeat this call of the tool.
    static var thisCall: [String] { [program] + CommandLine.arguments.dropFirst() }

    /// Returns a command of this tool.
    static func tool(_ words: [String]) -> String { line([program] + words) }

    /// Returns a command that runs as root.
    static func asRoot(_ words: [String]) -> String { line((geteuid() == 0 ? [] : ["sudo"]) + words) }

    /// Returns a command that runs as another user.
    static func asUser(_ user: UInt32, group: UInt32, _ words: [String]) -> String {
        let name = userName(user)
        guard geteuid() == 0 else { return line(["sudo", "-u", name ?? "#\(user)", "--"] + words) }
        if let name { return line(["runuser", "-u", name, "--"] + words) }
        return line(["setpriv", "--reuid=\(user)", "--regid=\(group)", "--clear-groups", "--"] + words)
    }

    /// Returns a command that gives files to a user and to the user's group.
    static func giving(_ paths: [String], to user: UInt32) -> String {
        asRoot(["chown", userName(user).map { "\($0):" } ?? "\(user)"] + paths)
    }

    /// Returns a command that changes permissions. It runs as root if this user may not change them.
    static func changingPermissions(_ change: String, of paths: [String], owner: UInt32) -> String {
        let words = ["chmod", change] + paths
        return owner == geteuid() ? line(words) : asRoot(words)
    }

    /// Returns a command that installs a package; nil if the package manager of this machine is not supported.
    static func installing(debian: String, fedora: String) -> String? {
        if path(of: "apt-get") != nil { return asRoot(["apt-get", "install", "-y", debian]) }
        if path(of: "dnf") != nil { return asRoot(["dnf", "install", "-y", fedora]) }
        return nil
    }

    /// Returns the path of an installed program; nil if it is not installed.
    static func path(of program: String) -> String? {
        let folders = (systemEnvironmentVariable("PATH") ?? "").split(separator: ":").map(String.init)
        return (folders + ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]).map { "\($0)/\(program)" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }

    /// Returns the name of a user; nil if the user database has none.
    static func userName(_ id: UInt32) -> String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        return buffer.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress, getpwuid_r(id, &entry, base, buffer.count, &found) == 0, found != nil,
                let name = entry.pw_name
            else { return nil }
            return String(cString: name)
        }
    }

    /// Returns a user for a message: the name, or the number of a user without a name.
    static func describedUser(_ id: UInt32) -> String { userName(id) ?? "\(id)" }
}
