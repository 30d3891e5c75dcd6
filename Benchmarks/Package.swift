// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "LocalData", path: "..")],
    targets: [
        .executableTarget(name: "bench", dependencies: [.product(name: "LocalData", package: "LocalData")])
    ],
    swiftLanguageModes: [.v6]
)
