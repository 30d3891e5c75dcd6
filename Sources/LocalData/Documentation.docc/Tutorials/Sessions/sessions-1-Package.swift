// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Sessions",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "sessions", targets: ["Sessions"])],
    dependencies: [
        // In your package, use the URL of the repository of LocalData.
        .package(name: "LocalData", path: "../LocalData", traits: [.defaults, "Hummingbird", "ServiceLifecycle"]),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "Sessions",
            dependencies: [
                .product(name: "LocalData", package: "LocalData"),
                .product(name: "LocalDataHummingbird", package: "LocalData"),
                .product(name: "LocalDataService", package: "LocalData"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ])
    ]
)
