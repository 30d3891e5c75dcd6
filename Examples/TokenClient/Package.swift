// swift-tools-version: 6.2
import PackageDescription

// The package of an HTTP client. In your package, use the URL of this repository instead of the path.
let package = Package(
    name: "TokenClient",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "LocalData", path: "../..", traits: [])],
    targets: [
        .target(name: "TokenClient", dependencies: [.product(name: "LocalData", package: "LocalData")]),
        .testTarget(
            name: "TokenClientTests",
            dependencies: [
                "TokenClient", .product(name: "LocalData", package: "LocalData"), .product(name: "LocalDataTesting", package: "LocalData"),
            ]),
    ]
)
