// swift-tools-version: 6.2
import PackageDescription

// A package with a custom backend. In your package, use the URL of this repository instead of the path.
let package = Package(
    name: "FolderStore",
    products: [.library(name: "FolderStore", targets: ["FolderStore"])],
    dependencies: [.package(name: "LocalData", path: "../..", traits: [])],
    targets: [
        .target(name: "FolderStore", dependencies: [.product(name: "LocalData", package: "LocalData")]),
        .testTarget(
            name: "FolderStoreTests",
            dependencies: [
                "FolderStore", .product(name: "LocalData", package: "LocalData"),
                .product(name: "BackendConformance", package: "LocalData"),
            ]),
    ]
)
