#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend

    extension ProbeCommand {
        /// Answers each line: `get NAME`, `put NAME TEXT`, `delete NAME`, `close`.
        static let echo: Run = { place, arguments in
            let store = place.store(deadline: .seconds(arguments.first.flatMap { Int($0) } ?? 60))
            say("ready")
            while let line = listen() {
                let words = line.split(separator: " ").map(String.init)
                switch (words.first, words.count) {
                case ("get"?, 2): say(try await store.read(StorageAddress(words[1])).text)
                case ("put"?, 3): say(await outcome(store, [.text(words[2], at: words[1])]))
                case ("delete"?, 2): say(await outcome(store, [.delete(StorageAddress(words[1]))]))
                case ("close"?, 1):
                    await store.close()
                    say("closed")
                default: say("unknown")
                }
            }
        }
    }
#endif
