import ArgumentParser
import Foundation
import LocalData

/// The `localdata` tool shows the stored data of programs and changes single values. It parses and prints; LocalData does the work.
struct LocalDataTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "localdata", abstract: "Shows what programs store with LocalData, and changes single values.",
        discussion: """
            A domain is defaults:SUITE for a property list, keychain:SERVICE for the session's keyring, or sqlite:DATABASE for an encrypted database of the \
            application --app-id. The tool refuses a key source that differs from the program's.

            Exit status: 0 done, 1 no such value, 64 wrong usage, 65 damaged or undecodable, 66 nothing to back up, 69 unavailable, or a problem that doctor found, \
            70 other failures, 73 no room, 75 locked or busy (try again), 77 access denied, or a file that others can change.
            """,
        subcommands: [
            Status.self, Doctor.self, Unlock.self, List.self, Get.self, Set.self, Remove.self, Damaged.self, SetAside.self, Quarantine.self,
            Key.self,
            EndWindow.self, Rotate.self, RotateKey.self, Verify.self,
            Backup.self, VerifyBackup.self, Restore.self, Export.self, Import.self,
        ])
}

/// The entry point. It checks that all arguments are valid UTF-8 before they are parsed.
@main
enum Main {
    static func main() async {
        // Decoding would replace invalid bytes, so that different arguments could result in the same wrong name.
        // Reason: "Arguments and input that are not UTF-8 are refused" in Docs/Decisions/ToolAndErrors.md.
        for argument in CommandLine.argumentBytes where String(validating: argument, as: UTF8.self) == nil {
            Failure.write("localdata: An argument is not text (UTF-8): \(String(decoding: argument, as: UTF8.self)). Nothing was done.")
            exit(64)
        }
        await LocalDataTool.main()
    }
}

extension CommandLine {
    /// The arguments as raw bytes.
    fileprivate static var argumentBytes: [[UInt8]] {
        (0..<Int(argc)).compactMap { index in
            unsafeArgv[index].map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
        }
    }
}
