// swift-tools-version: 6.2
import PackageDescription

// A server with Hummingbird. In your package, use the URL of LocalData's repository instead of the path.
let package = Package(
    name: "Sessions",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "sessions", targets: ["Sessions"])],
    dependencies: [
        .package(
            name: "LocalData", path: "../..", traits: [.defaults, "ServiceLifecycle", "Configuration", "Hummingbird", "PostgreSQL"]),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "Sessions",
            dependencies: [
                .product(name: "LocalData", package: "LocalData"),
                .product(name: "LocalDataConfiguration", package: "LocalData"),
                .product(name: "LocalDataHummingbird", package: "LocalData"),
                .product(name: "LocalDataPostgreSQL", package: "LocalData"),
                .product(name: "LocalDataService", package: "LocalData"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ], swiftSettings: [.enableUpcomingFeature("ExistentialAny")]),
        .testTarget(
            name: "SessionsTests",
            dependencies: [
                "Sessions", .product(name: "LocalData", package: "LocalData"), .product(name: "LocalDataTesting", package: "LocalData"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Hummingbird", package: "hummingbird"), .product(name: "HummingbirdTesting", package: "hummingbird"),
            ], swiftSettings: [.enableUpcomingFeature("ExistentialAny")]),
    ]
)
