// swift-tools-version: 6.2
import PackageDescription

// A program with a catalog, and the program that the plugin runs. In your package, use the URL of this repository instead of the path.
let package = Package(
    name: "Migrations",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "LocalData", path: "../..", traits: [])],
    targets: [
        .target(name: "Notes", dependencies: [.product(name: "LocalData", package: "LocalData")]),
        .executableTarget(
            name: "Authoring", dependencies: ["Notes", .product(name: "LocalDataAuthoring", package: "LocalData")]),
        .testTarget(
            name: "NotesTests",
            dependencies: [
                "Notes", .product(name: "LocalData", package: "LocalData"), .product(name: "LocalDataTesting", package: "LocalData"),
            ]),
    ]
)
