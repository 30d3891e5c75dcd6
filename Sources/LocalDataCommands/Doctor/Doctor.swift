import ArgumentParser
import Foundation
import LocalData

/// `localdata doctor`: finds faults of this machine that keep programs from their data, and prints the commands that correct them.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Finds what is wrong with this machine, and prints the commands that correct it.",
        discussion: """
            Checks the session bus, the keyring, the owners and permissions of folders, the key source, property lists, databases, locks, \
            SQLite, the disks and the clock. Without --app-id and --root, it checks all programs of the session. It opens no prompt and \
            changes no file. Exit status 69 if there is a problem.

            Example: localdata doctor --app-id com.example.app
            """)

    @OptionGroup var place: PlaceOptions

    func run() async throws {
        let programs = try await place.reporting { try place.checkedPrograms() }
        var found = try place.selectionFindings()
        var need = KeyringNeed()
        for program in programs {
            found += await TimedCheck.blocking("folder \(program.directories.data)") { FolderCheck(program).findings() }
            found += await Self.databases(of: program, &need)
            let store = StoreCheck(program)
            found += await TimedCheck.blocking("lists in \(program.directories.preferences)") {
                store.restore() + store.lists() + store.quarantine()
            }
            found += await TimedCheck.blocking("locks in \(program.directories.locks)") { LockCheck(program).findings() }
        }
        let machine = MachineCheck(programs)
        found += await TimedCheck.blocking("machine") { machine.sqlite() + machine.clock() }
        found += await TimedCheck.blocking("disks") { machine.disks() }
        found = await session(need) + found
        try show(found)
        if found.contains(where: { $0.finding == .problem }) { throw ExitCode(69) }
    }

    /// Checks the databases of a program, and the source of its keys.
    private static func databases(of program: CheckedProgram, _ need: inout KeyringNeed) async -> [Finding] {
        #if SQLite
            typealias Checked = (found: [Finding], need: KeyringNeed)
            let late = { @Sendable () -> Checked in ([TimedCheck.unfinished("databases in \(program.directories.data)")], KeyringNeed()) }
            let checked = await TimedCheck.blocking(late: late) { () -> Checked in
                let store = StoreCheck(program)
                let databases = store.databases()
                let key = KeyCheck(program, databases)
                return (key.findings() + store.findings(databases) + store.lostDatabases(), key.keyringNeed)
            }
            need.items += checked.need.items
            need.isNamed = need.isNamed || checked.need.isNamed
            return checked.found
        #else
            return []
        #endif
    }

    /// Checks the session bus and the keyring, if the programs need them.
    private func session(_ need: KeyringNeed) async -> [Finding] {
        #if Keyring && os(Linux)
            // A program with one folder, or with a vault, keeps its keys outside of the keyring.
            if place.root != nil || place.service != nil || place.key.vault, !need.isNamed {
                return [.ok(KeyringCheck.check, "The program does not need it.")]
            }
            var found = await TimedCheck.blocking(SessionBus.check) { SessionBus().findings() }
            if !found.contains(where: { $0.finding == .problem }) {
                let check = KeyringCheck(service: place.applicationID ?? need.items.first?.service ?? "localdata", items: need.items)
                found += await TimedCheck.waiting(late: { check.late() }) { await check.findings() }
            }
            // With another key source, only the values of the domain `.keychain` are in the keyring.
            return place.key.words.isEmpty || need.isNamed ? found : found.map(\.asWarning)
        #else
            return []
        #endif
    }

    private func show(_ found: [Finding]) throws {
        var seen: Swift.Set<[String]> = []
        // The programs of a session share folders, so two programs can have the same finding.
        let findings = found.filter { seen.insert([$0.check, $0.message]).inserted }
        if place.json { return try Output.json(findings) }
        for finding in findings {
            let grade = finding.finding.rawValue
            Output.line("\(grade)\(String(repeating: " ", count: 9 - grade.count))\(finding.check): \(finding.message)")
            if let command = finding.command { Output.line("         \(command)") }
        }
    }
}
