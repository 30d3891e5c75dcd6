// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

/// The settings of every target: language mode 6 and the upcoming features the house is written in.
let house: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// Programs of ours resolve every function when they start: the dynamic linker would save registers, and a key in them, at each first call.
/// Reason: "The library overwrites its copies of keys" in Docs/Decisions/Keys.md.
let bindingNow: [LinkerSetting] = [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now"], .when(platforms: [.linux]))]

/// For valgrind 3.19, which gives up on the debug information of the C targets (DWARF 5).
let strippedOfDebugInformation: [LinkerSetting] = [.unsafeFlags(["-Xlinker", "-S"], .when(platforms: [.linux]))]

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

/// The system's SQLite, where the trait asks for it.
let sqlite: Target.Dependency = .target(name: "CSQLite", condition: .when(traits: ["SQLite"]))

/// The client library of PostgreSQL, where the trait asks for it.
let libpq: Target.Dependency = .target(name: "CPostgreSQL", condition: .when(traits: ["PostgreSQL"]))

/// Swift's own syntax, for macros; fetched and compiled only where the trait asks for it.
func syntax(_ products: String...) -> [Target.Dependency] {
    products.map { .product(name: $0, package: "swift-syntax", condition: .when(traits: ["Macros"])) }
}
let macros: Target.Dependency = .target(name: "LocalDataMacros", condition: .when(traits: ["Macros"]))

/// What the fuzz targets reach into.
let fuzzed: [Target.Dependency] =
    [
        "BackendContract", "BackendRuntime", "DefaultsBackend", "KeyringBackend", "LocalData", "LocalDataImporters", "SQLiteBackend",
        "Sealing", crypto, sqlite,
    ]

/// A product of a package that is fetched only where a trait asks for it.
func product(_ name: String, _ package: String, trait: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: [trait]))
}

/// What else is built, for the developers of LocalData alone: nothing (nil), `documentation`, `fuzzing`, or the searches of `Proof` with any
/// other text. With `mutants`, the searches contain the patches of `Proof/Mutants`.
let extra = Context.environment["LOCALDATA_PROOF"]
let buildsSearches = extra != nil && extra != "documentation" && extra != "fuzzing"

/// The traits that a build of the searches has by default, so that .ci/run tests what they give. Everyone else asks for the traits.
let provingTraits: Set<String> = buildsSearches ? ["PostgreSQL", "ServiceLifecycle", "Configuration", "Observability"] : []

let package = Package(
    name: "LocalData",
    platforms: [.macOS(.v15)],
    products: [
        .library(
            name: "LocalData",
            targets: ["LocalData", "BackendContract", "BackendRuntime", "MemoryBackend", "DefaultsBackend", "KeyringBackend"]),
        .library(name: "LocalDataBackup", targets: ["LocalDataBackup"]),
        .library(name: "LocalDataCaches", targets: ["LocalDataCaches"]),
        .library(name: "LocalDataCommands", targets: ["LocalDataCommands"]),
        .library(name: "LocalDataImporters", targets: ["LocalDataImporters"]),
        .library(name: "LocalDataQueries", targets: ["LocalDataQueries"]),
        .library(name: "LocalDataPlans", targets: ["LocalDataPlans", "LocalDataVocabulary"]),
        .library(name: "LocalDataPostgreSQL", targets: ["LocalDataPostgreSQL"]),
        .library(name: "LocalDataObservation", targets: ["LocalDataObservation"]),
        .library(name: "LocalDataService", targets: ["LocalDataService"]),
        .library(name: "LocalDataConfiguration", targets: ["LocalDataConfiguration"]),
        .library(name: "LocalDataObservability", targets: ["LocalDataObservability"]),
        .library(name: "LocalDataHummingbird", targets: ["LocalDataHummingbird"]),
        .library(name: "BackendConformance", targets: ["BackendConformance"]),
        .library(name: "LocalDataModels", targets: ["LocalDataModels"]),
        .library(name: "LocalDataTesting", targets: ["LocalDataTesting"]),
        .library(name: "LocalDataAuthoring", targets: ["LocalDataAuthoring"]),
        .plugin(name: "LocalDataPlugin", targets: ["LocalDataPlugin"]),
        .executable(name: "localdata", targets: ["LocalDataCLI"]),
    ],
    traits: [
        .default(enabledTraits: Set(["SQLite", "Keyring"]).union(provingTraits)),
        .trait(name: "SQLite", description: "The domain .encryptedSQLite."),
        .trait(name: "Keyring", description: "The domain .keychain, over the Secret Service. Needs libsecret on Linux."),
        .trait(name: "PostgreSQL", description: "The domain .postgreSQL, in the module LocalDataPostgreSQL. Needs libpq."),
        .trait(name: "ServiceLifecycle", description: "StorageService, in the module LocalDataService. Fetches swift-service-lifecycle."),
        .trait(name: "Configuration", description: "A provider for swift-configuration, in the module LocalDataConfiguration."),
        .trait(name: "Observability", description: "Metrics and traces, in the module LocalDataObservability."),
        .trait(name: "Hummingbird", description: "A PersistDriver, in the module LocalDataHummingbird. Fetches hummingbird."),
        .trait(name: "Macros", description: "@StorageModel, in the module LocalDataModels. Fetches and compiles swift-syntax."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    ],
    targets: [
        // MARK: The contract, and what a backend needs from the machine
        .target(name: "BackendContract", path: "Sources/Backends/Contract", swiftSettings: house),
        .target(name: "BackendRuntime", dependencies: ["BackendContract"], path: "Sources/Backends/Runtime", swiftSettings: house),
        .target(name: "BackendConformance", dependencies: ["BackendContract"], path: "Sources/Backends/Conformance", swiftSettings: house),

        // MARK: The backends, one room each
        .target(
            name: "MemoryBackend", dependencies: ["BackendContract", "BackendRuntime"], path: "Sources/Backends/Memory",
            swiftSettings: house),
        .target(
            name: "DefaultsBackend", dependencies: ["BackendContract", "BackendRuntime", crypto], path: "Sources/Backends/Defaults",
            swiftSettings: house),
        .target(
            name: "KeyringBackend",
            dependencies: [
                "BackendContract", "BackendRuntime",
                .target(name: "CLibSecret", condition: .when(platforms: [.linux], traits: ["Keyring"])),
            ],
            path: "Sources/Backends/Keyring", swiftSettings: house),
        // GObject's .pc file, not libsecret's, which brings -pthread and with it a warning into every build (see shim.h).
        .systemLibrary(
            name: "CLibSecret", path: "Sources/Backends/CLibSecret", pkgConfig: "gobject-2.0",
            providers: [.apt(["libsecret-1-dev"]), .yum(["libsecret-devel"])]),
        // Reason: "BoringSSL is called directly" in Docs/Decisions/Keys.md.
        .target(name: "CSealing", dependencies: [crypto], path: "Sources/Backends/CSealing"),
        .target(
            name: "Sealing", dependencies: ["BackendContract", "BackendRuntime", "CSealing", crypto, cryptoExtras],
            path: "Sources/Backends/Sealing", swiftSettings: house),
        // Reason: "The module CSQLite has no pkg-config file" in Docs/Decisions/Stores.md.
        .systemLibrary(
            name: "CSQLite", path: "Sources/Backends/CSQLite",
            providers: [.apt(["libsqlite3-dev"]), .yum(["sqlite-devel"])]),
        .target(
            name: "SQLiteBackend", dependencies: ["BackendContract", "BackendRuntime", "Sealing", crypto, sqlite],
            path: "Sources/Backends/SQLite", swiftSettings: house),
        .systemLibrary(
            name: "CPostgreSQL", path: "Sources/Backends/CPostgreSQL", pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .yum(["libpq-devel"])]),
        .target(
            name: "PostgreSQLBackend", dependencies: ["BackendContract", "BackendRuntime", "Sealing", crypto, libpq],
            path: "Sources/Backends/PostgreSQL", swiftSettings: house),

        // MARK: The front door
        // Reason: "JSON is decoded in one pass" in Docs/Decisions/Stores.md.
        .target(name: "JSONReading", dependencies: ["BackendContract"], path: "Sources/JSONReading", swiftSettings: house),
        .target(
            name: "LocalData",
            dependencies: [
                "BackendContract", "BackendRuntime", "JSONReading", "MemoryBackend", "DefaultsBackend", "KeyringBackend", "SQLiteBackend",
                "Sealing",
                crypto,
                logging,
            ],
            swiftSettings: house),
        .target(
            name: "LocalDataBackup", dependencies: ["LocalData", "BackendContract", "BackendRuntime", "Sealing", crypto],
            swiftSettings: house),
        .target(name: "LocalDataCaches", dependencies: ["LocalData", "BackendContract", "BackendRuntime", logging], swiftSettings: house),
        .target(
            name: "LocalDataImporters",
            dependencies: ["LocalData", "BackendContract", "BackendRuntime", "DefaultsBackend", "KeyringBackend", crypto],
            swiftSettings: house),
        .target(
            name: "LocalDataPostgreSQL", dependencies: ["LocalData", "BackendContract", "BackendRuntime", "PostgreSQLBackend", "Sealing"],
            swiftSettings: house),
        .target(
            name: "LocalDataService",
            dependencies: [
                "LocalData", "BackendRuntime", product("ServiceLifecycle", "swift-service-lifecycle", trait: "ServiceLifecycle"),
            ],
            swiftSettings: house),
        .target(
            name: "LocalDataObservation", dependencies: ["LocalData", "LocalDataQueries", "BackendContract", "BackendRuntime"],
            swiftSettings: house),
        .target(
            name: "LocalDataConfiguration",
            dependencies: [
                "LocalData", "BackendContract", "BackendRuntime", logging,
                product("Configuration", "swift-configuration", trait: "Configuration"),
            ], swiftSettings: house),
        .target(
            name: "LocalDataObservability",
            dependencies: [
                "LocalData", product("Metrics", "swift-metrics", trait: "Observability"),
                product("CoreMetrics", "swift-metrics", trait: "Observability"),
                product("Tracing", "swift-distributed-tracing", trait: "Observability"),
            ], swiftSettings: house),
        .target(
            name: "LocalDataHummingbird",
            dependencies: [
                "LocalData", "BackendContract", "BackendRuntime", crypto, logging,
                product("Hummingbird", "hummingbird", trait: "Hummingbird"),
                product("ServiceLifecycle", "swift-service-lifecycle", trait: "Hummingbird"),
            ], swiftSettings: house),
        .target(name: "LocalDataQueries", dependencies: ["LocalData", "BackendContract"], swiftSettings: house),
        .target(name: "LocalDataPlans", dependencies: ["LocalData", "BackendContract", crypto, logging], swiftSettings: house),
        .target(name: "LocalDataVocabulary", dependencies: ["LocalDataPlans"], swiftSettings: house),
        .target(
            name: "LocalDataTesting", dependencies: ["LocalData", "LocalDataModels", "BackendContract", "BackendRuntime", "MemoryBackend"],
            swiftSettings: house),
        .target(
            name: "LocalDataAuthoring", dependencies: ["LocalData", "LocalDataModels", "LocalDataTesting"], swiftSettings: house),
        .plugin(
            name: "LocalDataPlugin",
            capability: .command(
                intent: .custom(verb: "localdata", description: "Makes and checks the migrations of a catalog of LocalData."),
                permissions: [.writeToPackageDirectory(reason: "It writes migration steps, their tests, snapshots and fixtures.")])),
        .macro(
            name: "LocalDataMacros",
            dependencies: syntax(
                "SwiftCompilerPlugin", "SwiftDiagnostics", "SwiftParser", "SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros"),
            swiftSettings: house),
        .target(name: "LocalDataModels", dependencies: ["LocalData", macros], swiftSettings: house),
        .target(
            name: "LocalDataCommands",
            dependencies: [
                "LocalData", "LocalDataBackup", "LocalDataImporters", "BackendContract", "BackendRuntime", "DefaultsBackend",
                "SQLiteBackend", "Sealing", arguments,
            ], swiftSettings: house),
        .executableTarget(
            name: "LocalDataCLI", dependencies: ["LocalDataCommands", arguments], swiftSettings: house, linkerSettings: bindingNow),

        // MARK: Small whole programs
        .target(
            name: "FolderStore", dependencies: ["BackendContract"], path: "Examples/FolderStore/Sources/FolderStore", swiftSettings: house),
        .executableTarget(name: "weather-old", dependencies: [arguments], path: "Examples/WeatherOld", swiftSettings: house),
        .executableTarget(
            name: "counter", dependencies: ["LocalData", "LocalDataPostgreSQL"], path: "Examples/Counter", swiftSettings: house,
            linkerSettings: bindingNow),
        .executableTarget(name: "weather-new", dependencies: ["LocalData", arguments], path: "Examples/WeatherNew", swiftSettings: house),

        // MARK: Tests
        .target(
            name: "TestSupport",
            dependencies: [
                "BackendContract", "BackendRuntime", "MemoryBackend", "PostgreSQLBackend", "Sealing",
                .target(name: "CLibSecret", condition: .when(platforms: [.linux], traits: ["Keyring"])), sqlite,
            ],
            path: "Tests/Support", swiftSettings: house),
        .executableTarget(
            name: "TestWorker",
            dependencies: [
                "LocalData", "LocalDataBackup", "BackendContract", "BackendRuntime", "DefaultsBackend", "KeyringBackend", "SQLiteBackend",
                "Sealing",
                "TestSupport", sqlite,
            ], path: "Tests/TestWorker", swiftSettings: house, linkerSettings: bindingNow),
        .testTarget(
            name: "ContractTests", dependencies: ["BackendContract", "BackendRuntime", "TestSupport"], swiftSettings: house),
        .testTarget(
            name: "ConformanceTests",
            dependencies: [
                "BackendConformance", "BackendContract", "BackendRuntime", "MemoryBackend", "DefaultsBackend", "KeyringBackend",
                "SQLiteBackend", "PostgreSQLBackend", "Sealing", "FolderStore", "TestSupport",
            ], swiftSettings: house),
        .testTarget(
            name: "DefaultsBackendTests",
            dependencies: ["BackendContract", "BackendRuntime", "DefaultsBackend", "TestSupport", "TestWorker"],
            resources: [.copy("Fixtures")], swiftSettings: house),
        .testTarget(
            name: "FaultingBackendTests",
            dependencies: ["BackendConformance", "BackendContract", "BackendRuntime", "LocalDataTesting", "MemoryBackend", "TestSupport"],
            swiftSettings: house),
        .testTarget(
            name: "KeyringBackendTests",
            dependencies: ["BackendContract", "BackendRuntime", "KeyringBackend", "TestSupport", "TestWorker"],
            swiftSettings: house),
        .testTarget(
            name: "SQLiteBackendTests",
            dependencies: ["BackendContract", "BackendRuntime", "Sealing", "SQLiteBackend", "TestSupport", "TestWorker", crypto, sqlite],
            swiftSettings: house),
        .testTarget(
            name: "PostgreSQLBackendTests",
            dependencies: [
                "LocalData", "LocalDataBackup", "LocalDataPostgreSQL", "BackendContract", "BackendRuntime", "PostgreSQLBackend", "Sealing",
                "TestSupport",
            ],
            swiftSettings: house),
        .testTarget(
            name: "LocalDataTests",
            dependencies: [
                "LocalData", "LocalDataTesting", "BackendContract", "BackendRuntime", "JSONReading", "MemoryBackend", "DefaultsBackend",
                "Sealing",
                "TestSupport", "TestWorker", "LocalDataCLI", "DocumentationSamples", "DocumentationSamplesMore", "GuideSamples",
                "GuideSamplesCustom", "GuideSamplesVocabulary",
                "LocalDataBackup", "LocalDataCaches", "LocalDataCommands", "LocalDataImporters", "LocalDataModels", "LocalDataObservation",
                "LocalDataPlans", "LocalDataQueries", "LocalDataVocabulary", arguments, logging,
            ], exclude: ["Fixtures"], swiftSettings: house),
        // The samples of Docs/MigrationGuide.md. They are also a separate package, which uses only the public interface.
        .testTarget(
            name: "MigrationGuideTests", dependencies: ["LocalData", "LocalDataTesting"],
            path: "Examples/MigrationGuide/Tests/MigrationGuideTests", swiftSettings: house),
        .target(name: "AuthoringSamples", dependencies: ["LocalData"], path: "Tests/AuthoringSamples/Desk", swiftSettings: house),
        .testTarget(
            name: "LocalDataAuthoringTests",
            dependencies: ["LocalData", "LocalDataAuthoring", "LocalDataModels", "LocalDataTesting", "AuthoringSamples", "TestSupport"],
            swiftSettings: house),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "LocalData", "LocalDataService", "LocalDataConfiguration", "LocalDataObservability", "LocalDataTesting", "BackendContract",
                "BackendRuntime", "MemoryBackend", "TestSupport", logging,
                product("ServiceLifecycleTestKit", "swift-service-lifecycle", trait: "ServiceLifecycle"),
                product("ServiceLifecycle", "swift-service-lifecycle", trait: "ServiceLifecycle"),
                product("Configuration", "swift-configuration", trait: "Configuration"),
                product("ConfigurationTesting", "swift-configuration", trait: "Configuration"),
                product("CoreMetrics", "swift-metrics", trait: "Observability"),
                product("MetricsTestKit", "swift-metrics", trait: "Observability"),
                product("Tracing", "swift-distributed-tracing", trait: "Observability"),
                product("InMemoryTracing", "swift-distributed-tracing", trait: "Observability"),
                product("UnixSignals", "swift-service-lifecycle", trait: "ServiceLifecycle"),
            ], swiftSettings: house),
        .testTarget(
            name: "HummingbirdTests",
            dependencies: [
                "LocalData", "LocalDataHummingbird", "LocalDataPostgreSQL", "LocalDataTesting", "BackendContract", "BackendRuntime",
                "TestSupport", logging, product("Hummingbird", "hummingbird", trait: "Hummingbird"),
                product("HummingbirdTesting", "hummingbird", trait: "Hummingbird"),
                product("ServiceLifecycle", "swift-service-lifecycle", trait: "Hummingbird"),
                product("ServiceLifecycleTestKit", "swift-service-lifecycle", trait: "Hummingbird"),
            ], swiftSettings: house),
        .testTarget(
            name: "LocalDataModelsTests",
            dependencies: ["LocalData", "LocalDataModels", "TestSupport", macros]
                + syntax("SwiftSyntax", "SwiftSyntaxMacros", "SwiftSyntaxMacroExpansion", "SwiftSyntaxMacrosGenericTestSupport"),
            swiftSettings: house),
        .testTarget(
            name: "SealingTests",
            dependencies: ["BackendContract", "BackendRuntime", "LocalDataTesting", "MemoryBackend", "Sealing", "TestSupport", crypto],
            exclude: ["passphrase-vector.py", "recovery-vector.py"], swiftSettings: house),
        .target(
            name: "DocumentationSamplesMore",
            dependencies: [
                "LocalData", "BackendConformance", "BackendContract", "MemoryBackend", "LocalDataAuthoring", "LocalDataBackup",
                "LocalDataCaches", "LocalDataCommands", "LocalDataConfiguration", "LocalDataImporters", "LocalDataModels",
                "LocalDataObservability", "LocalDataObservation", "LocalDataPlans", "LocalDataPostgreSQL", "LocalDataQueries",
                "LocalDataService", "LocalDataTesting", "LocalDataVocabulary", arguments, logging,
                product("Configuration", "swift-configuration", trait: "Configuration"),
                product("ServiceLifecycle", "swift-service-lifecycle", trait: "ServiceLifecycle"),
                product("UnixSignals", "swift-service-lifecycle", trait: "ServiceLifecycle"),
            ], path: "Tests/DocumentationSamplesMore"),
        .target(name: "GuideSamples", dependencies: ["LocalData"], path: "Tests/GuideSamples"),
        .target(
            name: "GuideSamplesCustom", dependencies: ["LocalData"], path: "Tests/GuideSamplesCustom",
            swiftSettings: [.swiftLanguageMode(.v5)]),
        .target(
            name: "GuideSamplesVocabulary", dependencies: ["LocalData", "LocalDataPlans", "LocalDataVocabulary"],
            path: "Tests/GuideSamplesVocabulary"),
        .target(
            name: "GuideSamplesMainActor", dependencies: ["LocalData"], path: "Tests/GuideSamplesMainActor",
            swiftSettings: [.defaultIsolation(MainActor.self)]),
        .target(
            name: "DocumentationSamples", dependencies: ["LocalData", "BackendContract", logging], path: "Tests/DocumentationSamples"),
    ],
    swiftLanguageModes: [.v6]
)

// Only for building the documentation (Scripts/check documentation): nobody who uses the package needs to fetch the plugin.
if extra == "documentation" {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}

// Only for Scripts/prove and Scripts/bench counts: the searches and the counts. In the folder of the ordinary build, which compiles nothing else
// again.
if buildsSearches {
    // Only for Scripts/mutate: in its copy of the package, the library contains the patches of Proof/Mutants.
    // Reason: "The library contains no mutants" in Docs/Decisions/Tests.md.
    let mutants: [SwiftSetting] = extra == "mutants" ? [.define("MUTANTS")] : []
    package.targets += [
        .target(
            name: "Simulation",
            dependencies: [
                "LocalData", "LocalDataBackup", "LocalDataQueries", "BackendContract", "BackendRuntime", "TestSupport", logging,
            ],
            path: "Proof/Simulation", swiftSettings: house + mutants),
        .target(
            name: "RealFaults", dependencies: ["BackendRuntime", "TestSupport", "FaultWorker"], path: "Proof/RealFaults",
            exclude: ["shim.c"],
            swiftSettings: house),
        .executableTarget(
            name: "FaultWorker",
            dependencies: [
                "LocalData", "LocalDataTesting", "LocalDataBackup", "LocalDataCommands", "LocalDataPlans", "LocalDataVocabulary",
                "BackendRuntime", arguments,
            ], path: "Proof/FaultWorker",
            swiftSettings: house, linkerSettings: bindingNow),
        .target(
            name: "ServerFaults",
            dependencies: ["LocalData", "LocalDataPostgreSQL", "BackendContract", "PostgreSQLBackend", "TestSupport"],
            path: "Proof/Server", exclude: ["judge.py"], swiftSettings: house),
        .target(
            name: "ScaleLoads", dependencies: ["LocalData", "LocalDataPostgreSQL", "TestSupport"], path: "Proof/Scale/Loads",
            swiftSettings: house),
        .executableTarget(
            name: "Prove", dependencies: ["Simulation", "RealFaults", "ServerFaults", "ScaleLoads", "TestSupport", arguments],
            path: "Proof/Prove", swiftSettings: house),
        .testTarget(
            name: "SimulationSearches",
            dependencies: ["Simulation", "RealFaults", "BackendConformance", "BackendContract", "BackendRuntime", "TestSupport"],
            path: "Proof/Searches/Simulation", resources: [.copy("PastFailures")], swiftSettings: house),
        .testTarget(
            name: "StorageSearches",
            dependencies: [
                "LocalData", "LocalDataTesting", "LocalDataBackup", "LocalDataCaches", "LocalDataPlans", "LocalDataVocabulary",
                "LocalDataObservation", "LocalDataPostgreSQL", "LocalDataQueries", "BackendContract", "BackendRuntime", "MemoryBackend",
                "DefaultsBackend", "Sealing", "TestSupport", logging,
            ], path: "Proof/Searches/Storage", swiftSettings: house),
        .testTarget(
            name: "DatabaseSearches",
            dependencies: ["BackendContract", "BackendRuntime", "Sealing", "SQLiteBackend", "TestSupport", crypto, sqlite],
            path: "Proof/Searches/Database", swiftSettings: house),
        .testTarget(
            name: "ServerSearches",
            dependencies: [
                "LocalData", "LocalDataBackup", "LocalDataPostgreSQL", "BackendContract", "BackendRuntime", "PostgreSQLBackend",
                "TestSupport",
            ],
            path: "Proof/Searches/Server", swiftSettings: house),
        .testTarget(
            name: "KeyringSearches", dependencies: ["BackendContract", "BackendRuntime", "KeyringBackend", "TestSupport"],
            path: "Proof/Searches/Keyring", swiftSettings: house),
        .testTarget(
            name: "FuzzSearches", dependencies: fuzzed + ["TestSupport"], path: "Proof/Fuzz", exclude: ["Corpus", "Program.swift"],
            swiftSettings: house),
        .executableTarget(
            name: "counts",
            dependencies: [
                "LocalData", "LocalDataCaches", "LocalDataObservability", "LocalDataObservation", "LocalDataQueries", "CAllocationCounts",
                "CCollection",
            ], path: "Benchmarks/Counts", exclude: ["CCollection"], swiftSettings: house, linkerSettings: strippedOfDebugInformation),
        .target(name: "CCollection", path: "Benchmarks/Counts/CCollection"),
        // The sources of the other benchmarks' CAllocations, under another name: one package graph has one target of a name.
        .target(name: "CAllocationCounts", path: "Benchmarks/Sources/CAllocations"),
    ]
}

// Only for Scripts/fuzz: the fuzz targets as a program, whose `main` is libFuzzer's.
// Reason: "Fuzz targets are tests that libFuzzer can run too" in Docs/Decisions/Tests.md.
if extra == "fuzzing" {
    package.targets.append(
        .executableTarget(
            name: "fuzz", dependencies: fuzzed, path: "Proof/Fuzz", exclude: ["Corpus", "CorpusTests.swift"], swiftSettings: house))
}
