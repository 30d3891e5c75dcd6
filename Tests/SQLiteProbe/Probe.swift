import Foundation

/// What the tests of the encrypted store do from another process.
@main
struct Probe {
    static func main() async throws {
        #if SQLite
            let arguments = Array(CommandLine.arguments.dropFirst())
            switch (arguments.first, arguments.count) {
            case ("leak"?, 3...4):
                try await LeakCommand.run(path: arguments[1], keyFile: arguments[2], control: arguments.count == 4 ? arguments[3] : nil)
            default:
                FileHandle.standardError.write(Data("unknown command: \(arguments)\n".utf8))
                exit(64)
            }
        #endif
    }
}
