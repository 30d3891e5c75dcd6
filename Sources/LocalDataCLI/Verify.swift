import ArgumentParser
import Foundation
import LocalData
import LocalDataBackup

/// `localdata verify`: checks that a database contains exactly the rows that were last committed.
struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks every row of an encrypted database against its sealed count and sum.",
        discussion: """
            Rows that were changed, removed, added or replaced by older ones are found; then the exit status is 65. A whole older file is found only \
            with the program's freshness anchor (--anchor): it is refused with the same status, until --accept-older-file takes it for the latest.
            """)

    @Argument(help: DomainArgument.help) var domain: DomainArgument
    @Flag(help: "Take what is there for what was written, when damage was repaired or is accepted. Earlier losses are no longer found.")
    var acceptContents = false
    @Option(help: ArgumentHelp("The location of the program's freshness anchor: the path of a file, or keyring.", valueName: "place"))
    var anchor: String?
    @Flag(
        help: """
            Take an older file for the latest, after it was restored on purpose: what was changed since is lost, and what was removed since is there \
            again. Needs --anchor.
            """)
    var acceptOlderFile = false
    @OptionGroup var place: PlaceOptions

    func validate() throws {
        if acceptOlderFile, anchor == nil {
            throw ValidationError("Only a freshness anchor knows which file is older: name it with --anchor.")
        }
        if anchor != nil, ![.encryptedSQLite, .keychain].contains(domain.domain.kind) {
            throw ValidationError("Only an encrypted database or a sealed vault has a freshness anchor.")
        }
    }

    /// Adds a freshness anchor from the command line to a configuration. The anchor records the latest commit of the
    /// database outside of its file.
    private func apply(to configuration: inout StorageConfiguration) {
        guard let anchor else { return }
        // A relative path on the command line is relative to the current folder, not to the data folder.
        let place: FreshnessAnchorPlace = anchor == "keyring" ? .keychain() : .file(URL(fileURLWithPath: anchor).path)
        let name = domain.domain.scope ?? configuration.applicationID
        if domain.domain.kind == .keychain {
            configuration.vaultFreshnessAnchors[name] = place
        } else {
            configuration.freshnessAnchors[name] = place
        }
    }

    func run() async throws {
        let report = try await place.withRouter(for: [domain.domain], changing: apply) { router in
            if acceptOlderFile { try await router.acceptOlderFile(of: domain.domain) }
            if acceptContents { try await router.acceptContents(of: domain.domain) }
            return try await router.verifyIntegrity(of: domain.domain)
        }
        guard let report else {
            if place.json { try Output.json(ShownReport(isSound: true)) } else { Output.line("There is no database yet.") }
            return
        }
        if place.json { try Output.json(ShownReport(report)) } else { Self.describe(report) }
        if !report.isSound { throw ExitCode(65) }
    }

    /// The JSON output of the command.
    private struct ShownReport: Encodable {
        var isSound: Bool
        var areRowsWhole: Bool?
        var commits: Int64?
        var damagedLabels: Int?
        var damagedRows: Int?
        var expectedRows: Int?
        var rows: Int?
        var rowsOfDestroyedKeys: Int?

        init(isSound: Bool) { self.isSound = isSound }

        init(_ report: IntegrityReport) {
            isSound = report.isSound
            (areRowsWhole, commits, damagedLabels) = (report.areRowsWhole, report.commits, report.damagedLabels)
            (damagedRows, expectedRows, rows) = (report.damagedRows, report.expectedRows, report.rows)
            rowsOfDestroyedKeys = report.rowsOfDestroyedKeys
        }
    }

    private static func describe(_ report: IntegrityReport) {
        Output.line("\(report.isSound ? "sound" : "NOT SOUND"): \(report.rows) rows\(report.commits.map { ", \($0) commits" } ?? "")")
        switch (report.areRowsWhole, report.expectedRows) {
        case (true, _): break
        case (false, let expected?):
            Output.line(
                "The rows are not those that were written last: \(expected) were. Some were replaced by older ones, removed or added.")
        case (false, nil): Output.line("The sealed state is missing or damaged, so removed or replaced rows cannot be detected.")
        }
        if report.damagedRows > 0 { Output.line("\(report.damagedRows) rows are damaged. To list them: localdata damaged list DOMAIN.") }
        if report.damagedLabels > 0 { Output.line("\(report.damagedLabels) labels are damaged.") }
        if report.rowsOfDestroyedKeys > 0 { Output.line("\(report.rowsOfDestroyedKeys) rows claim a destroyed key.") }
    }
}
