import ArgumentParser
import LocalData
import LocalDataBackup

/// `localdata rotate-key`: replaces the key in a key source, the location of an encryption key, such as a keyring item.
struct RotateKey: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a new key in the key source, and gives databases, vaults and the quarantine to it.",
        discussion: """
            The program may run meanwhile. The older key stays in the source, because single values may be sealed with it: the program seals them \
            again with rotateKey(of:), which knows its catalogs, and destroys the older key with deleteOlderKeys(of:).
            """)

    @OptionGroup var place: PlaceOptions

    func run() async throws {
        if place.appID == nil, place.root == nil { throw ValidationError("Name the owner of the key: --app-id or --root.") }
        let report = try await place.withRouter(isSealed: true) { try await $0.rotateKey() }
        if place.json {
            try Output.json(
                Shown(databases: report.databases, olderKeys: report.olderKeys, remaining: report.remaining, values: report.values))
        } else {
            Output.line("\(report.databases) databases and \(report.values) quarantined values have the new key.")
            Output.line("The source keeps \(report.olderKeys) older key\(report.olderKeys == 1 ? "" : "s").")
            for text in report.remaining { Output.line("Not done: \(text)") }
        }
        if !report.isComplete { throw ExitCode(75) }
    }

    /// The JSON output of the command.
    private struct Shown: Encodable {
        let databases: Int
        let olderKeys: Int
        let remaining: [String]
        let values: Int
    }
}
