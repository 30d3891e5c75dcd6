import Foundation
import PackagePlugin

/// The command `swift package localdata`. It builds the program of the package that calls `MigrationAuthoring.main`, and runs it with the
/// folders of the package's targets. The program does the work: a plugin cannot load the code of a package.
@main struct LocalDataPlugin: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) async throws {
        var extractor = ArgumentExtractor(arguments)
        let target = try authoringTarget(of: context.package, named: extractor.extractOption(named: "executable").first)
        let name = productName(of: target, in: context.package)
        let build = try packageManager.build(.product(name), parameters: .init(configuration: .debug, logging: .concise))
        guard build.succeeded else { throw Failure("\(name) does not build:\n\(build.logText)") }
        guard let program = build.builtArtifacts.first(where: { $0.kind == .executable && $0.url.lastPathComponent == name })?.url else {
            throw Failure("The build of \(name) made no executable.")
        }
        let layout = String(decoding: try JSONEncoder().encode(Layout(context.package)), as: UTF8.self)
        let process = Process()
        process.executableURL = program
        process.arguments = extractor.remainingArguments + ["--layout", layout]
        try process.run()
        process.waitUntilExit()
        if process.terminationStatus != 0 { throw Failure("The command failed. \(name) has printed the reason.") }
    }

    /// Returns the executable target that depends on `LocalDataAuthoring`.
    private func authoringTarget(of package: Package, named name: String?) throws -> any Target {
        let targets = package.targets.filter { target in
            guard let module = target as? any SourceModuleTarget, module.kind == .executable else { return false }
            return name == nil ? Layout.dependencies(of: target).contains("LocalDataAuthoring") : target.name == name
        }
        guard let target = targets.first else {
            throw Failure(name.map { "This package has no executable target \($0)." } ?? instruction(package))
        }
        guard targets.count == 1 else {
            let names = targets.map(\.name).joined(separator: ", ")
            throw Failure("Several executable targets depend on LocalDataAuthoring: \(names). Name one with --executable.")
        }
        return target
    }

    /// The name of the product that contains an executable target.
    private func productName(of target: any Target, in package: Package) -> String {
        package.products.lazy.compactMap { $0 as? ExecutableProduct }.first { $0.mainTarget.id == target.id }?.name ?? target.name
    }

    /// The text that says how to add the missing target.
    private func instruction(_ package: Package) -> String {
        let catalogs = package.targets.first { target in
            (target as? any SourceModuleTarget)?.kind == .generic && Layout.dependencies(of: target).contains("LocalData")
        }
        let module = catalogs?.name ?? "App"
        let imports = ["import \(module)", "import LocalDataAuthoring"].sorted().joined(separator: "\n    ")
        return """
            No executable target of this package depends on LocalDataAuthoring. Add this target to Package.swift:

                .executableTarget(
                    name: "Authoring",
                    dependencies: ["\(module)", .product(name: "LocalDataAuthoring", package: "LocalData")]),

            and this file, Sources/Authoring/main.swift, with the name of your catalog:

                \(imports)

                await MigrationAuthoring.main(AppKeys())
            """
    }
}

/// The folders of the package's targets. `PackageLayout` of `LocalDataAuthoring` decodes it.
private struct Layout: Encodable {
    struct Folder: Encodable {
        var name: String
        var folder: String
        var isTest: Bool
        var dependencies: [String]
    }

    var package: String
    var targets: [Folder]

    init(_ package: Package) {
        self.package = package.directoryURL.path
        targets = package.targets.compactMap { target in
            guard let module = target as? SwiftSourceModuleTarget else { return nil }
            return Folder(
                name: module.name, folder: module.directoryURL.path, isTest: module.kind == .test,
                dependencies: Self.dependencies(of: target))
        }
    }

    /// The names of the targets and products on which a target depends.
    static func dependencies(of target: any Target) -> [String] {
        target.dependencies.compactMap { dependency in
            switch dependency {
            case .target(let target): target.name
            case .product(let product): product.name
            @unknown default: nil
            }
        }
    }
}

/// The error of a package that is not set up for the plugin.
private struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
