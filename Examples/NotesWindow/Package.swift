// swift-tools-version: 6.2
import PackageDescription

let features: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]
let localData: Target.Dependency = .product(name: "LocalData", package: "LocalData")
let observation: Target.Dependency = .product(name: "LocalDataObservation", package: "LocalData")
let queries: Target.Dependency = .product(name: "LocalDataQueries", package: "LocalData")

// A program with a window. In your package, use the URL of LocalData's repository instead of the path.
let package = Package(
    name: "NotesWindow",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "notes-window", targets: ["NotesWindow"]), .executable(name: "notes-cli", targets: ["NotesCLI"])],
    dependencies: [.package(name: "LocalData", path: "../..")],
    targets: [
        // SwiftPM warns about compiler flags in GTK's pkg-config file ("prohibited flag(s)"). It ignores these flags, and GTK does not
        // need them here.
        .systemLibrary(
            name: "CGTK", path: "Sources/CGTK", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"]), .yum(["gtk4-devel"])]),
        .target(name: "NotesModel", dependencies: [localData, observation, queries], swiftSettings: features),
        .executableTarget(name: "NotesWindow", dependencies: ["CGTK", "NotesModel", localData], swiftSettings: features),
        .executableTarget(name: "NotesCLI", dependencies: ["NotesModel", localData], swiftSettings: features),
        .testTarget(name: "NotesModelTests", dependencies: ["NotesModel", localData], swiftSettings: features),
    ]
)
