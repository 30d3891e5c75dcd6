import BackendRuntime
import Foundation

/// A process of this machine, as `/proc` describes it. On a system without `/proc` there are none.
struct RunningProcess: Sendable {
    let id: Int32
    /// The first 15 bytes of the program's name.
    let name: String
    /// The state: `T` for a stopped process, `D` for one that waits for a disk.
    let state: Character
    /// The user who started the process.
    let user: UInt32

    /// Reads the state of a process; nil if it has ended.
    init?(_ id: Int32) {
        guard let text = Self.text("/proc/\(id)/status") else { return nil }
        var fields: [Substring: Substring] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { fields[parts[0]] = parts[1].drop { $0 == "\t" || $0 == " " } }
        }
        guard let name = fields["Name"], let state = fields["State"]?.first,
            let user = fields["Uid"]?.split(whereSeparator: \.isWhitespace).first.flatMap({ UInt32($0) })
        else { return nil }
        (self.id, self.name, self.state, self.user) = (id, String(name), state, user)
    }

    /// Whether the process was stopped by a signal or a debugger.
    var isStopped: Bool { state == "T" || state == "t" }

    /// Returns the value of an environment variable of the process; nil if it is not set, or if this user may not read it.
    func environmentVariable(_ name: String) -> String? {
        guard let text = Self.text("/proc/\(id)/environ") else { return nil }
        return text.split(separator: "\0").first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.utf8.count + 1)) }
    }

    /// Returns whether the process has a file open. False if this user may not see the open files of the process.
    func hasOpen(_ file: FileStatus) -> Bool {
        let (folder, files) = ("/proc/\(id)/fd", PosixFileSystem())
        return ((try? files.list(folder)) ?? []).contains { (try? files.status("\(folder)/\($0)"))?.isSameFile(as: file) == true }
    }

    /// Returns the processes of this user with one of the given names.
    static func ofThisUser(_ names: Swift.Set<String>) -> [RunningProcess] {
        let numbers = ((try? PosixFileSystem().list("/proc")) ?? []).compactMap { Int32($0) }
        return numbers.sorted().compactMap { RunningProcess($0) }.filter { $0.user == getuid() && names.contains($0.name) }
    }

    private static func text(_ path: String) -> String? {
        ((try? PosixFileSystem().read(path)) ?? nil).map { String(decoding: $0.bytes, as: UTF8.self) }
    }
}
