import BackendRuntime
import Foundation
import LocalData

/// A program whose storage `localdata doctor` checks.
struct CheckedProgram: Sendable {
    let configuration: StorageConfiguration
    let directories: StorageDirectories
    /// The options that select this program in another call of the tool.
    let options: [String]

    /// The property lists that the library uses internally: the ledger of migrations, the list of sealing keys, the quarantine, and
    /// the witnesses.
    var ownLists: [String] {
        [
            "\(directories.state)/ledger.plist", "\(directories.state)/pins.plist", "\(directories.data)/quarantine/quarantine.plist",
            "\(directories.data)/witness.plist",
        ]
    }

    /// The user who must own the files: the owner of the existing folder, or else the user of this process.
    var owner: UInt32 { base?.status.owner ?? geteuid() }

    /// The first folder of the program that exists. If this user may not reach it, the last folder on its path that this user can reach.
    var base: (path: String, status: FileStatus)? {
        for folder in [directories.data, directories.state, directories.preferences] {
            var path = folder
            while path != "/" {
                do throws(FileError) {
                    if let status = try PosixFileSystem().status(path) { return (path, status) }
                    break
                } catch {
                    path = parentDirectory(of: path)
                }
            }
        }
        return nil
    }

    /// Returns a command of this tool for this program.
    func command(_ words: String...) -> String { ShellCommand.tool(words + options) }
}

/// The items of the keyring that programs need.
struct KeyringNeed: Sendable {
    /// A sealing key, and the databases that it opens.
    struct Item: Sendable {
        let service: String
        let name: String
        let databases: [String]
    }

    var items: [Item] = []
    /// Whether a database names an item of the keyring as its key source.
    var isNamed = false
}

extension PlaceOptions {
    /// Returns the programs to check. Without an application and a folder, these are all programs of the session.
    func checkedPrograms() throws -> [CheckedProgram] {
        let isNamed = root != nil || service != nil || applicationID != nil
        let names = isNamed ? [] : try SessionApplications.ids(withUnnamed: true)
        if names.isEmpty { return [try checkedProgram()].compactMap(\.self) }
        return try names.compactMap { (name) -> CheckedProgram? in
            var place = self
            place.appID = name
            return try place.checkedProgram()
        }
    }

    /// Returns whether there is no file at a path. False if this user may not know it.
    private static func isAbsent(_ path: String) -> Bool {
        do { return try PosixFileSystem().status(path) == nil } catch { return false }
    }

    /// Returns the warning for a folder that does not exist, or for an application that has stored nothing in this session.
    func selectionFindings() throws -> [Finding] {
        if let root, Self.isAbsent(root) {
            return [.warning("folder \(root)", "There is no such folder: no program has stored anything in it.")]
        }
        guard let applicationID, root == nil, service == nil else { return [] }
        let known = try SessionApplications.ids()
        if known.contains(applicationID) { return [] }
        let list = known.isEmpty ? "No application has." : "Known: \(known.joined(separator: ", "))."
        return [.warning("application", "\(applicationID) has stored nothing in this session. \(list)")]
    }

    private func checkedProgram() throws -> CheckedProgram? {
        let configuration = try configuration()
        guard let directories = try configuration.directories else { return nil }
        let selected =
            root.map { ["--root", URL(fileURLWithPath: $0).standardizedFileURL.path] } ?? service.map { ["--service", $0] } ?? []
        return CheckedProgram(
            configuration: configuration, directories: directories,
            options: selected + (applicationID.map { ["--app-id", $0] } ?? []) + key.words)
    }
}
