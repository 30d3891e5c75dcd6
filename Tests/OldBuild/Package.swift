// swift-tools-version: 6.2
import PackageDescription

// A program that is linked against an earlier state of this repository: see Scripts/check-old-build, which puts that state into its place.
let package = Package(
    name: "OldBuild",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "LocalData", path: "../../.build/old-build/LocalData", traits: ["SQLite"])],
    targets: [.executableTarget(name: "old-program", dependencies: [.product(name: "LocalData", package: "LocalData")])],
    swiftLanguageModes: [.v6]
)
