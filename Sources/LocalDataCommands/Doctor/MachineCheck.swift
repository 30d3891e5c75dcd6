import BackendRuntime
import Foundation
import LocalData

/// Checks the parts of the machine that all programs share: SQLite, the disks and the clock.
struct MachineCheck: Sendable {
    let programs: [CheckedProgram]
    private let files = PosixFileSystem()

    init(_ programs: [CheckedProgram]) { self.programs = programs }

    // MARK: SQLite

    /// Checks that the version of SQLite is free of a known fault.
    func sqlite() -> [Finding] {
        #if SQLite
            guard var configuration = programs.first?.configuration else { return [] }
            configuration.closesWhenReleased = false
            let router = StorageRouter(configuration: configuration)
            guard let warning = router.warning(about: .encryptedSQLite(database: "any")) else {
                return [.ok("SQLite", "This version has no known fault.")]
            }
            return [.warning("SQLite", warning + " Do not open a database with another program while a program of this library uses it.")]
        #else
            return []
        #endif
    }

    // MARK: Disks

    /// The free space, in bytes, below which writes fail.
    private static let full: UInt64 = 4 << 20
    /// The free space, in bytes, below which writes will soon fail.
    private static let nearlyFull: UInt64 = 64 << 20

    /// Checks that the disks of the folders have free space, and can be written.
    func disks() -> [Finding] {
        var checked: Swift.Set<UInt64> = []
        var found: [Finding] = []
        for directories in programs.map(\.directories) {
            for folder in [directories.data, directories.state, directories.preferences, directories.locks] {
                guard let (path, status) = existing(folder), checked.insert(status.device).inserted else { continue }
                if let finding = disk(path) { found.append(finding) }
            }
        }
        return found.isEmpty ? [.ok("disks", "They have free space.")] : found
    }

    private func disk(_ path: String) -> Finding? {
        var info = statvfs()
        guard statvfs(path, &info) == 0 else { return nil }
        let mount = mountPoint(of: path)
        let name = "disk \(mount)"
        let readOnly: UInt = 1  // ST_RDONLY
        if info.f_flag & readOnly != 0 {
            return .problem(
                name, "It is mounted for reading only, so nothing can be stored in \(path).",
                ShellCommand.asRoot(["mount", "-o", "remount,rw", mount]))
        }
        // This command lists the largest files and folders; only a person can decide which ones are not needed.
        let largest = ShellCommand.asRoot(["du", "-xah", mount]) + " | sort -rh | head -n 20"
        if info.f_files > 0, info.f_favail == 0 {
            return .problem(
                name, "It has no room for another file: the command lists the folders with most files.",
                ShellCommand.asRoot(["du", "-x", "--inodes", mount]) + " | sort -rn | head -n 20")
        }
        let free = UInt64(info.f_bavail) * UInt64(info.f_frsize)
        guard free < Self.nearlyFull else { return nil }
        let message = "It has \(free >> 20) MiB of free space: the command lists the largest files, so that you can remove some."
        return free < Self.full ? .problem(name, "It is full. " + message, largest) : .warning(name, message, largest)
    }

    /// Returns the first folder on a path, from its end, that exists.
    private func existing(_ folder: String) -> (path: String, status: FileStatus)? {
        var path = folder
        while true {
            if let status = (try? files.status(path)) ?? nil { return (path, status) }
            if path == "/" { return nil }
            path = parentDirectory(of: path)
        }
    }

    /// Returns the folder at which the disk of a path is mounted.
    private func mountPoint(of path: String) -> String {
        var point = files.resolve(path)
        let device = (try? files.status(point))?.device
        while point != "/" {
            let parent = parentDirectory(of: point)
            guard (try? files.status(parent))?.device == device else { break }
            point = parent
        }
        return point
    }

    // MARK: The clock

    /// The first second of 2024. An earlier time is wrong, because this program is younger.
    private static let beginning = Date(timeIntervalSince1970: 1_704_067_200)
    /// The number of seconds by which a file may be newer than the clock.
    private static let tolerance = 60.0

    /// Checks that the clock is not behind the last change of a file.
    func clock(now: Date = Date()) -> [Finding] {
        let command = ShellCommand.path(of: "timedatectl").map { _ in ShellCommand.asRoot(["timedatectl", "set-ntp", "true"]) }
        let shown = now.ISO8601Format()
        if now < Self.beginning {
            return [.problem("clock", "It shows \(shown), which is wrong: values with an expiry date expire at the wrong time.", command)]
        }
        var latest: (path: String, modified: Date)?
        for path in programs.flatMap(changedFiles) {
            guard let status = (try? files.status(path)) ?? nil else { continue }
            let modified = Date(timeIntervalSince1970: Double(status.modified) / 1e9)
            if modified > latest?.modified ?? .distantPast { latest = (path, modified) }
        }
        if let latest, latest.modified > now.addingTimeInterval(Self.tolerance) {
            return [
                .problem(
                    "clock",
                    "It shows \(shown), but \(latest.path) was changed at \(latest.modified.ISO8601Format()): one time is wrong.",
                    command)
            ]
        }
        return [.ok("clock", "It shows \(shown).")]
    }

    /// Returns the files of a program whose last change is compared with the clock.
    private func changedFiles(_ program: CheckedProgram) -> [String] {
        let folder = "\(program.directories.data)/databases"
        return program.ownLists + ((try? files.list(folder)) ?? []).map { "\(folder)/\($0)" }
    }
}
