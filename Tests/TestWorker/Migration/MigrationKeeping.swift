import Foundation
import LocalData
import LocalDataBackup

/// A program that makes, verifies and restores a backup, and says how much memory that took.
extension MigrationSession {
    /// Backs up the stage to a file, verifies it, and restores it beside.
    /// - Parameter key: The text of a recovery key: a passphrase costs memory of its own.
    static func keep(_ configuration: StorageConfiguration, _ file: String, key: String) async {
        let kit = URL(fileURLWithPath: file)
        var configuration = configuration
        // Its key lies beside the data, in a file.
        configuration.databaseKeySources = [:]
        var other = StorageConfiguration(root: URL(fileURLWithPath: file + ".root"), applicationID: configuration.applicationID)
        other.userDefaultsName = configuration.userDefaultsName
        other.deadlines = configuration.deadlines
        do {
            let secret = BackupKey.recoveryKey(try RecoveryKey(text: key))
            let before = peak()
            let router = StorageRouter(configuration: configuration)
            try await router.backup(to: kit, openedBy: [secret])
            try await router.shutdown()
            let made = peak()
            try await StorageRouter.verifyBackup(at: kit, with: secret)
            let verified = peak()
            try await StorageRouter.restore(from: kit, with: secret, into: other)
            writeLine("peak \(before) \(made) \(verified) \(peak())")
        } catch { writeLine("failed \(error)") }
    }

    /// The most memory that the process has used so far, in KiB.
    private static func peak() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) } ?? 0
    }
}
