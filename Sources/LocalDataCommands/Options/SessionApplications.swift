import BackendRuntime
import Foundation
import LocalData

/// The applications that store data in the folders of the session. Each has a folder `<application id>/LocalData`.
enum SessionApplications {
    /// Returns the ids of the applications, sorted.
    /// - Throws: ``StorageError`` with `unavailable` when no home folder is known.
    static func ids(withUnnamed: Bool = false) throws -> [String] {
        guard let session = try StorageConfiguration.xdg(applicationID: PlaceOptions.unnamed).directories else { return [] }
        var found: Swift.Set<String> = []
        for home in [session.data, session.state].map({ parentDirectory(of: parentDirectory(of: $0)) }) {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: home)) ?? []
            where (withUnnamed || name != PlaceOptions.unnamed) && FileManager.default.fileExists(atPath: "\(home)/\(name)/LocalData") {
                found.insert(name)
            }
        }
        return found.sorted()
    }
}
