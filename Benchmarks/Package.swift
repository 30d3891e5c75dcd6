// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "LocalData", path: ".."),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .executableTarget(name: "bench", dependencies: [.product(name: "LocalData", package: "LocalData")]),
        // Only the system's SQLite: neither GRDB nor LocalData is built for it.
        .executableTarget(name: "layouts", dependencies: [.product(name: "GRDBSQLite", package: "GRDB.swift")]),
    ],
    swiftLanguageModes: [.v6]
)
