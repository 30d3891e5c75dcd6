import BackendRuntime
import Foundation
import LocalData

/// Finds stopped processes that hold a lock of a program. A lock file without such a process is harmless, because the system releases the
/// lock of a process that ends.
struct LockCheck: Sendable {
    let program: CheckedProgram
    private let files = PosixFileSystem()

    init(_ program: CheckedProgram) { self.program = program }

    /// A lock of `flock` that a process holds, as `/proc/locks` lists it.
    private struct HeldLock {
        let process: Int32
        let device: String
        let inode: UInt64
    }

    /// Compares the held locks of this machine with the lock files of the program.
    func findings() -> [Finding] {
        let held = heldLocks()
        var found: [Finding] = []
        for path in lockFiles {
            guard let status = (try? files.status(path)) ?? nil else { continue }
            for lock in held where lock.inode == status.inode {
                guard let process = RunningProcess(lock.process), process.isStopped else { continue }
                // The device of some file systems differs from the one in `/proc/locks`.
                guard lock.device == Self.deviceText(status.device) || process.hasOpen(status) else { continue }
                found.append(
                    .problem(
                        "lock",
                        "The process \(process.id) (\(process.name)) holds the lock \(path), and is stopped, so other programs wait.",
                        ShellCommand.line(["kill", "-CONT", "\(process.id)"])))
            }
        }
        return found.isEmpty ? [.ok("locks in \(program.directories.locks)", "No stopped process holds one.")] : found
    }

    /// The files that the library locks: lock files, and property lists.
    private var lockFiles: [String] {
        let directories = program.directories
        let folders = [
            directories.locks, "\(directories.locks)/keys", "\(directories.data)/databases", "\(directories.data)/vaults",
            directories.preferences,
        ]
        var paths = program.ownLists
        for folder in folders {
            for name in (try? files.list(folder)) ?? [] where !name.hasSuffix(".sqlite") { paths.append("\(folder)/\(name)") }
        }
        return paths
    }

    /// Parses lines such as `2: FLOCK  ADVISORY  WRITE 4711 08:01:131085 0 EOF`.
    private func heldLocks() -> [HeldLock] {
        let text = ((try? files.read("/proc/locks")) ?? nil).map { String(decoding: $0.bytes, as: UTF8.self) } ?? ""
        return text.split(separator: "\n").compactMap { (line) -> HeldLock? in
            let fields = line.split(separator: " ")
            guard fields.count >= 6, fields[1] == "FLOCK", let process = Int32(fields[4]) else { return nil }
            let parts = fields[5].split(separator: ":")
            guard parts.count == 3, let inode = UInt64(parts[2]) else { return nil }
            return HeldLock(process: process, device: "\(parts[0]):\(parts[1])", inode: inode)
        }
    }

    /// Returns a device as in `/proc/locks`: its major and minor number in hexadecimal.
    private static func deviceText(_ device: UInt64) -> String {
        let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
        let minor = device & 0xFF | (device >> 12) & ~0xFF
        func hexadecimal(_ number: UInt64) -> String { (number < 16 ? "0" : "") + String(number, radix: 16) }
        return "\(hexadecimal(major)):\(hexadecimal(minor))"
    }
}
