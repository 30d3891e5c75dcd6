import Foundation

/// The folders of the package for which migrations are made. The plugin passes it as JSON.
struct PackageLayout: Codable, Sendable {
    /// A target of the package with Swift sources.
    struct Target: Codable, Sendable {
        var name: String
        /// The absolute path of the folder with the sources.
        var folder: String
        var isTest: Bool
        /// The names of the targets and products on which the target depends.
        var dependencies: [String]
    }

    /// The absolute path of the package.
    var package: String
    var targets: [Target]

    /// Returns the target for the generated steps: the one that declares the catalog, or the one that the user names.
    func sources(module: String, named name: String?) throws -> Target {
        let wanted = name ?? module
        if let target = targets.first(where: { $0.name == wanted || $0.name.replacing("-", with: "_") == wanted }) { return target }
        throw AuthoringRefusal("This package has no target \(wanted). Name the target for the steps with --target.")
    }

    /// Returns the target for the generated tests: the only one that depends on the catalog's module and on
    /// LocalDataTesting, or the one that the user names.
    func tests(of sources: Target, named name: String?) throws -> Target {
        if let name {
            if let target = targets.first(where: { $0.name == name && $0.isTest }) { return target }
            throw AuthoringRefusal("This package has no test target \(name).")
        }
        let found = targets.filter { $0.isTest && $0.dependencies.contains(sources.name) && $0.dependencies.contains("LocalDataTesting") }
        if found.count == 1 { return found[0] }
        if found.isEmpty {
            throw AuthoringRefusal(
                """
                No test target depends on \(sources.name) and LocalDataTesting. Add these dependencies to one, for example:

                    .testTarget(
                        name: "\(sources.name)Tests",
                        dependencies: ["\(sources.name)", .product(name: "LocalDataTesting", package: "LocalData")]),
                """)
        }
        throw AuthoringRefusal(
            "Several test targets depend on \(sources.name): \(found.map(\.name).joined(separator: ", ")). Name one with --tests.")
    }
}
