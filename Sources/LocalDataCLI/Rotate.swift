import ArgumentParser
import Foundation
import LocalData
import LocalDataBackup

/// `localdata rotate`: replaces the data key of a database, the key that encrypts its rows.
struct Rotate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Seals a database with a new data key, and destroys the old one.",
        discussion: """
            The program may use the database meanwhile. A rotation that was interrupted goes on with the next call. The key source stays the same: a \
            key that became known to others has to be replaced too.
            """)

    @Argument(help: DomainArgument.help) var domain: DomainArgument
    @OptionGroup var place: PlaceOptions

    func run() async throws {
        let showsProgress = isatty(STDERR_FILENO) == 1 && !place.json
        let count = try await place.withRouter(for: [domain.domain]) { router in
            try await router.rotateDataKey(of: domain.domain) { progress in
                guard showsProgress else { return }
                FileHandle.standardError.write(Data("\r\(progress.done) of \(progress.total)".utf8))
            }
        }
        if showsProgress { FileHandle.standardError.write(Data("\n".utf8)) }
        if place.json { try Output.json(["rows": count]) } else { Output.line("\(count) rows are sealed with a new data key.") }
    }
}
