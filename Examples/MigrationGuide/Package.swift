// swift-tools-version: 6.2
import PackageDescription

// The samples of Docs/MigrationGuide.md, as a program outside of the package compiles them, and tests that run them. In your package, use
// the URL of this repository instead of the path.
let package = Package(
    name: "MigrationGuide",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "LocalData", path: "../..", traits: [])],
    targets: [
        .testTarget(
            name: "MigrationGuideTests",
            dependencies: [
                .product(name: "LocalData", package: "LocalData"), .product(name: "LocalDataTesting", package: "LocalData"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
