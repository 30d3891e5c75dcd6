#if SQLite
    /// Uses an encrypted database. The first argument is a command, the second the folder of the database.
    enum DatabaseCommand {
        typealias Run = @Sendable (DatabasePlace, [String]) async throws -> Void

        private static let all: [String: Run] = [
            "serve": serve, "count": count, "churn": churn, "create": create, "echo": echo, "trace": trace, "puts": puts,
            "hold-transaction": holdTransaction, "hold-reader": holdReader, "hold-lock": holdLock, "leak": leak,
            "shelve": shelve, "rotate": rotate,
        ]

        static func run(_ arguments: [String]) async throws {
            guard arguments.count >= 2, let command = all[arguments[0]] else { exitWithUsageError("unknown command") }
            try await command(DatabasePlace(folder: arguments[1]), Array(arguments.dropFirst(2)))
        }
    }
#endif
