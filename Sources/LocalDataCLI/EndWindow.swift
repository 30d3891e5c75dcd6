import ArgumentParser
import LocalData

/// `localdata end-window`: asks a program to end the release window of a value. In a release window, the value's legacy
/// location is kept up to date for an earlier release of the program.
struct EndWindow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Ends the release window of a value at the program's next sweep.",
        discussion: """
            DOMAIN and NAME are the value's own place, not the older one. From that sweep on, programs of the earlier release find nothing in the \
            older place any more. With --collection, NAME is a collection's, and the window of all its records ends.
            """)

    @Flag(help: "NAME is a collection.") var collection = false
    @OptionGroup var slot: SlotOptions
    @OptionGroup var place: PlaceOptions

    func validate() throws {
        // The request is stored in the ledger, a file of the program, so the command line must identify the program.
        if place.appID == nil, place.root == nil { throw ValidationError("Name the program: --app-id or --root.") }
    }

    func run() async throws {
        try await place.withRouter(for: [slot.domain.domain]) { router in
            let key = slot.key(DocumentValue.self)
            guard collection else { return try await router.requestReleaseWindowEnd(for: key) }
            let records = StorageCollection<DocumentValue>(
                key.name, domain: key.domain, security: key.security, owner: key.owner, description: key.description, id: { _ in "" })
            try await router.requestReleaseWindowEnd(in: records)
        }
        if place.json { try Output.done() }
    }
}
