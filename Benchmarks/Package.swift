// swift-tools-version: 6.2
import PackageDescription

/// Whether the benchmarks contain PostgreSQL and queries. `Scripts/bench against` builds earlier revisions of the library,
/// which may not have them.
let hasServer = Context.environment["BENCH_WITHOUT_SERVER"] == nil

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "LocalData", path: "..", traits: hasServer ? [.defaults, "PostgreSQL"] : [.defaults]),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    ],
    targets: [
        .executableTarget(
            name: "bench",
            dependencies: [
                .product(name: "LocalData", package: "LocalData"), .product(name: "LocalDataTesting", package: "LocalData"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"), .product(name: "Crypto", package: "swift-crypto"),
                "CAllocations", "CLibCrypto", "CLMDB", "CSecret",
            ] + (hasServer ? [.product(name: "LocalDataPostgreSQL", package: "LocalData"), "CLibPQ"] : []),
            swiftSettings: hasServer ? [.define("BENCH_SERVER")] : []),
        .target(name: "CAllocations"),
        // OpenSSL, for a peer that keeps its cipher's context. swift-crypto has no such interface.
        .systemLibrary(name: "CLibCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLMDB", providers: [.apt(["liblmdb-dev"])]),
        // The compiler options come from the pkg-config file of GObject. The pkg-config file of libsecret would add
        // -pthread, which causes a warning in every build.
        .systemLibrary(name: "CSecret", pkgConfig: "gobject-2.0", providers: [.apt(["libsecret-1-dev"])]),
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        // This target uses only the system's SQLite, and builds neither GRDB nor LocalData.
        .executableTarget(name: "layouts", dependencies: [.product(name: "GRDBSQLite", package: "GRDB.swift")]),
    ]
        + (hasServer
            ? [
                .executableTarget(
                    name: "queries",
                    dependencies: [
                        .product(name: "LocalData", package: "LocalData"), .product(name: "LocalDataQueries", package: "LocalData"),
                        .product(name: "GRDB", package: "GRDB.swift"),
                    ])
            ] : []),
    swiftLanguageModes: [.v6]
)
