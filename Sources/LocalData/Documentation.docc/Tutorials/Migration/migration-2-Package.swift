// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Weather",
    platforms: [.macOS(.v15)],
    dependencies: [
        // In your package, use the URL of the repository of LocalData.
        .package(name: "LocalData", path: "../LocalData")
    ],
    targets: [
        .executableTarget(name: "weather-old"),
        .executableTarget(name: "weather", dependencies: [.product(name: "LocalData", package: "LocalData")]),
    ]
)
