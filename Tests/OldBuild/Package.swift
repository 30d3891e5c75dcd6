// swift-tools-version: 6.2
import PackageDescription

// A program that is linked against an earlier state of this repository. Scripts/check-old-build sets the folder of that
// state.
let state = Context.environment["LOCALDATA_OLD_STATE"] ?? "../../.build/old-build/LocalData"
let package = Package(
    name: "OldBuild",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "LocalData", path: state, traits: ["SQLite"])],
    targets: [.executableTarget(name: "old-program", dependencies: [.product(name: "LocalData", package: "LocalData")])],
    swiftLanguageModes: [.v6]
)
