// swift-tools-version: 6.2
import PackageDescription

let features: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility")]

// A package with a custom backend over etcd. In your package, use the URL of this repository instead of the path.
let package = Package(
    name: "EtcdStore",
    platforms: [.macOS(.v15)],
    products: [.library(name: "EtcdStore", targets: ["EtcdStore"])],
    dependencies: [
        .package(name: "LocalData", path: "../..", traits: []),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
        .package(url: "https://github.com/grpc/grpc-swift-protobuf", from: "2.4.1"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0", traits: []),
    ],
    targets: [
        .target(
            name: "EtcdStore",
            dependencies: [
                .product(name: "LocalData", package: "LocalData"),
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
                .product(name: "GRPCProtobuf", package: "grpc-swift-protobuf"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ],
            swiftSettings: features + [
                .enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            ]),
        .testTarget(
            name: "EtcdStoreTests",
            dependencies: [
                "EtcdStore", .product(name: "LocalData", package: "LocalData"),
                .product(name: "BackendConformance", package: "LocalData"),
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ], swiftSettings: features),
    ]
)
