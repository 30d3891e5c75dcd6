#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend

    extension DatabaseCommand {
        /// Answers each line: `get NAME`, `put NAME TEXT`, `delete NAME`, `close`.
        static let echo: Run = { place, arguments in
            let store = place.store(deadline: .seconds(arguments.first.flatMap { Int($0) } ?? 60))
            writeLine("ready")
            while let line = readLine() {
                let words = line.split(separator: " ").map(String.init)
                switch (words.first, words.count) {
                case ("get"?, 2): writeLine(try await store.read(StorageAddress(words[1])).text)
                case ("put"?, 3): writeLine(await outcome(store, [.text(words[2], at: words[1])]))
                case ("delete"?, 2): writeLine(await outcome(store, [.delete(StorageAddress(words[1]))]))
                case ("close"?, 1):
                    await store.close()
                    writeLine("closed")
                default: writeLine("unknown")
                }
            }
        }
    }
#endif
