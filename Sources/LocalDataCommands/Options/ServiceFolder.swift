import BackendRuntime
import Foundation

/// Finds the folder in which a systemd service keeps its data: `LocalData` in the service's state folder.
enum ServiceFolder {
    /// Returns the folder of a service. If no folder exists yet, it is the one that the service would create.
    /// - Parameters:
    ///   - service: The name in `StateDirectory=`, or the name of the unit.
    ///   - host: The environment.
    static func path(of service: String, host: HostFacts) throws -> String {
        let name = service.hasSuffix(".service") ? String(service.dropLast(8)) : service
        let folders = states(of: name, host)
        func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }
        let found = folders.first { exists("\($0)/LocalData") } ?? folders.first(where: exists)
        guard let found else {
            throw Refusal(
                status: .unknownName, code: "unknownApplication", name: service,
                message: "There is no folder of the service \(service). These were searched: \(folders.joined(separator: ", ")).")
        }
        return "\(found)/LocalData"
    }

    /// The state folders that a service of this name may have: the folder in the environment of this process, the folder of the system's
    /// services, and the folder of the user's services.
    private static func states(of name: String, _ host: HostFacts) -> [String] {
        let given = (host.environment["STATE_DIRECTORY"] ?? "").split(separator: ":").map(String.init).filter {
            lastComponent(of: $0) == name
        }
        let state = host.environment["XDG_STATE_HOME"] ?? host.environment["HOME"].map { "\($0)/.local/state" }
        return given + ["/var/lib/\(name)"] + (state.map { ["\($0)/\(name)"] } ?? [])
    }
}
