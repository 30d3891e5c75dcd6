import Foundation
import LocalData
import LocalDataBackup

/// The mode `kit` of this worker, a program that tests start with the name of a mode as argument. The mode makes,
/// verifies and restores a backup, and prints how much memory that took.
extension MigrationSession {
    /// Backs up the stores of a configuration to a file, verifies the backup, and restores it next to the file.
    /// - Parameter key: The text of a recovery key. A passphrase would need additional memory for its derivation.
    static func keep(_ configuration: StorageConfiguration, _ file: String, key: String) async {
        let kit = URL(fileURLWithPath: file)
        var configuration = configuration
        // Name no key source for single databases. Then each database uses the default source of this configuration, a
        // key file next to the data.
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

    /// Returns the peak memory use of the process in KiB.
    private static func peak() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) } ?? 0
    }
}
