import ArgumentParser
import LocalData
import LocalDataBackup

/// `localdata set-aside`: replaces a damaged property list with an empty one and keeps the damaged file.
struct SetAside: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Moves a damaged property list away, so that the program begins with an empty one.",
        discussion: """
            Restore a backup instead if there is one. The command keeps the damaged file and prints its path; a property list that can be read \
            is refused.
            """)

    @Argument(help: DomainArgument.help) var domain: DomainArgument
    @OptionGroup var place: PlaceOptions

    func run() async throws {
        let copy = try await place.withRouter(for: [domain.domain]) { try await $0.setAsideDamagedStore(of: domain.domain) }
        if place.json { try Output.json(["copy": copy]) } else { Output.line(copy) }
    }
}
