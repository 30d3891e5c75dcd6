import LocalData

/// The mode `leak` of this worker, a program that tests start with the name of a mode as argument. The mode reads a
/// value and releases its router, so that a test can search the memory of the process for secrets.
extension MigrationSession {
    /// Reads the value `a` of the domain `place`, releases the router, and stops with a control text in memory. A
    /// debugger can then save the memory. The saved memory must contain the control text, so a test knows that its
    /// search works.
    static func leak(_ configuration: StorageConfiguration, _ service: String, place: String, control: String) async {
        weak var router: StorageRouter?
        router = await use(configuration, service, place)
        // Threads of the stores may hold references for a moment longer.
        for _ in 0..<12_000 where router != nil { try? await Task.sleep(for: .milliseconds(10)) }
        writeLine(router == nil ? "released" : "kept")
        try? await waitUntilThreadsSleep()
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
