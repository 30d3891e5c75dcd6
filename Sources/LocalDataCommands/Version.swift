/// The version of the tool. A release sets it: see `Docs/Releasing.md`.
enum Version {
    static let text = "localdata 0.1.0"
}
