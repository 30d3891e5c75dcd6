import Foundation

/// What the tests of the encrypted store do from another process. The first argument is a command, the second the folder of a database.
@main
struct Probe {
    static func main() async throws {
        #if SQLite
            let arguments = Array(CommandLine.arguments.dropFirst())
            guard arguments.count >= 2, let command = ProbeCommand.all[arguments[0]] else {
                FileHandle.standardError.write(Data("unknown command: \(arguments)\n".utf8))
                exit(64)
            }
            try await command(ProbePlace(folder: arguments[1]), Array(arguments.dropFirst(2)))
        #endif
    }
}

#if SQLite
    /// The commands, by name.
    enum ProbeCommand {
        typealias Run = @Sendable (ProbePlace, [String]) async throws -> Void

        static let all: [String: Run] = [
            "serve": serve, "count": count, "churn": churn, "create": create, "echo": echo, "trace": trace, "puts": puts,
            "hold-transaction": holdTransaction, "hold-reader": holdReader, "hold-lock": holdLock, "leak": leak,
            "shelve": shelve, "rotate": rotate,
        ]
    }
#endif
