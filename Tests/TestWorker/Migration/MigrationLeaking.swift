import LocalData

/// A program that reads a value, shuts down, lets go of its router, and then lies open to whoever looks into its memory.
extension MigrationSession {
    /// Reads the value `a` of a place, and stops with a control text in memory, as if at a breakpoint.
    static func leak(_ configuration: StorageConfiguration, _ service: String, place: String, control: String) async {
        weak var router: StorageRouter?
        router = await use(configuration, service, place)
        // Threads of the stores may be about to let go of what they worked with.
        for _ in 0..<1_000 where router != nil { try? await Task.sleep(for: .milliseconds(10)) }
        writeLine(router == nil ? "released" : "kept")
        try? await Task.sleep(for: .milliseconds(500))
        stopForMemoryDump(control: control)
    }

    private static func use(_ configuration: StorageConfiguration, _ service: String, _ place: String) async -> StorageRouter {
        let router = StorageRouter(configuration: configuration)
        let answer = await MigrationSession(router: router, service: service).answer("look", [place, "a"])
        writeLine(answer.hasPrefix("value ") && answer != "value none" ? "read" : answer)
        try? await router.shutdown()
        return router
    }
}
