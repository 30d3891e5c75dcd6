import AuthoringSamples
import Foundation
import LocalData
import TestSupport
import Testing

@testable import LocalDataAuthoring

/// The arguments of the plugin's program, and the targets that it chooses.
@Suite(.inTurn) struct CommandLineTests {
    private func run(_ arguments: [String], _ catalogs: [any StorageKeyCatalog] = [DeskKeys()]) async -> AuthoringReport {
        await AuthoringCommand.run(arguments, catalogs, configure: { _ in }, fill: { _ in })
    }

    private let empty = #"{"package":"/tmp","targets":[]}"#

    @Test func `unknown and incomplete arguments end with status 64 and the usage`() async {
        for arguments in [
            [], ["--layout", empty], ["migrate", "--layout", empty], ["check"], ["check", "check", "--layout", empty],
            ["check", "--name"], ["check", "--layout", "{"], ["make-migrations", "--name", "", "--layout", empty],
        ] {
            let report = await run(arguments)
            #expect(report.status == 64, "\(arguments)")
            #expect(report.lines.contains { $0.contains("make-migrations") }, "\(arguments)")
        }
    }

    @Test func `a command without a catalog, and catalogs with similar ids, are refused`() async {
        let none = await run(["check", "--layout", empty], [])
        #expect(none.status == 1)
        let twins = await run(["check", "--layout", empty], [DeskKeys(), FormerDeskKeys()])
        #expect(twins.status == 1 && twins.lines.contains { $0.contains("similar ids") })
    }

    private struct PrivateKeys: StorageKeyCatalog { var allKeys: [AnyStorageKey] { [] } }

    @Test func `a private catalog is refused, because no test can name its type`() {
        #expect { try CatalogNames(PrivateKeys()) } throws: { "\($0)".contains("private") }
    }

    @Test func `the catalog's type is named without its module`() throws {
        let names = try CatalogNames(SchemaChangeTests.Keys())
        #expect(names.module == "LocalDataAuthoringTests" && names.type == "SchemaChangeTests.Keys" && names.identifier == "Keys")
    }

    @Test func `the test target is the only one that depends on the catalog's module and on LocalDataTesting`() throws {
        let app = PackageLayout.Target(name: "my-app", folder: "/p/App", isTest: false, dependencies: [])
        func tests(_ name: String, _ dependencies: [String]) -> PackageLayout.Target {
            PackageLayout.Target(name: name, folder: "/p/\(name)", isTest: true, dependencies: dependencies)
        }
        let one = PackageLayout(
            package: "/p",
            targets: [app, tests("A", ["my-app"]), tests("B", ["my-app", "LocalDataTesting"]), tests("C", ["LocalDataTesting"])])
        // The module of a target has underscores where its name has hyphens.
        #expect(try one.sources(module: "my_app", named: nil).folder == "/p/App")
        #expect(try one.tests(of: app, named: nil).name == "B")
        #expect(try one.tests(of: app, named: "A").name == "A")
        #expect { try one.sources(module: "Other", named: nil) } throws: { "\($0)".contains("--target") }
        #expect { try one.tests(of: app, named: "Other") } throws: { "\($0)".contains("no test target Other") }
        let none = PackageLayout(package: "/p", targets: [app, tests("A", ["my-app"])])
        #expect { try none.tests(of: app, named: nil) } throws: {
            "\($0)".contains(#"dependencies: ["my-app", .product(name: "LocalDataTesting", package: "LocalData")]"#)
        }
        let two = PackageLayout(
            package: "/p", targets: [app, tests("A", ["my-app", "LocalDataTesting"]), tests("B", ["my-app", "LocalDataTesting"])])
        #expect { try two.tests(of: app, named: nil) } throws: { "\($0)".contains("Name one with --tests.") }
    }

    @Test func `a path relative to a folder goes up and down`() {
        func path(_ folder: String, _ other: String) -> String {
            CatalogAuthoring.path(of: URL(filePath: folder), from: URL(filePath: other))
        }
        #expect(path("/p/Migrations/Keys", "/p/Tests/AppTests/Migrations") == "../../../Migrations/Keys")
        #expect(path("/p/Sources/A.swift", "/p") == "Sources/A.swift")
    }
}
