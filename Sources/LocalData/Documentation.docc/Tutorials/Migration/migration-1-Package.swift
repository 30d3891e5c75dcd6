// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Weather",
    targets: [
        .executableTarget(name: "weather-old")
    ]
)
