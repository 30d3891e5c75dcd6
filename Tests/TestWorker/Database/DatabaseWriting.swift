#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend

    extension DatabaseCommand {
        /// Callers that each store one number after the other, in two slots at once, and print it once it is acknowledged; until killed.
        static let serve: Run = { place, arguments in
            let store = place.store()
            await withTaskGroup { group in
                for writer in 0..<(Int(arguments[0]) ?? 1) {
                    group.addTask {
                        // Of all sizes, so that a group is torn wherever a kill can tear it.
                        let filler = String(repeating: ".", count: 37 * writer * writer)
                        for number in 1... {
                            let text = "\(number) \(filler)"
                            let result = await outcome(store, [.text(text, at: "left \(writer)"), .text(text, at: "right \(writer)")])
                            guard result == "applied" else { return writeLine("\(writer) \(result)") }
                            writeLine("\(writer) \(number)")
                        }
                    }
                }
            }
        }

        /// Adds one to a number as many times as asked.
        static let count: Run = { place, arguments in
            let count = await countUp(StorageAddress(arguments[0]), in: place.store(), rounds: Int(arguments[1]) ?? 0) {
                .bytes(Array("\($0)".utf8))
            }
            writeLine(count)
        }

        /// Writes all the time until standard input ends, and then tells how often.
        static let churn: Run = { place, _ in
            let store = place.store()
            let callers = 4
            let writing = Task {
                await withTaskGroup(of: Int.self) { group in
                    for caller in 0..<callers {
                        group.addTask {
                            var number = 0
                            while !Task.isCancelled {
                                let result = await outcome(store, [.text("\(number)", at: "churn \(caller) \(number % 50)")])
                                if result != "applied" { break }
                                number += 1
                                if number == 1 { writeLine("writing") }
                            }
                            return number
                        }
                    }
                    return await group.reduce(0, +)
                }
            }
            while readLine() != nil {}
            writing.cancel()
            writeLine("wrote \(await writing.value)")
        }

        /// Makes a database with one value, as soon as standard input says so.
        static let create: Run = { place, arguments in
            let store = place.store()
            writeLine("ready")
            guard readLine() != nil else { return }
            writeLine(await outcome(store, [.text(arguments[0], at: arguments[0])]))
            await store.close()
        }

        /// Stores values one after the other, in two slots each, tells what became of each, and then what stands there.
        static let puts: Run = { place, arguments in
            let (prefix, count, size) = (arguments[0], Int(arguments[1]) ?? 0, Int(arguments[2]) ?? 0)
            let store = place.store()
            let filler = String(repeating: "x", count: size)
            for number in 0..<count {
                let text = "\(number) \(filler)"
                writeLine(
                    "put \(number) \(await outcome(store, [.text(text, at: "\(prefix) \(number)"), .text(text, at: "\(prefix) \(number)'")]))"
                )
            }
            for number in 0..<count {
                let probes = try await store.read([StorageAddress("\(prefix) \(number)"), StorageAddress("\(prefix) \(number)'")], .fresh)
                writeLine("get \(number) \(probes.map { String($0.text.prefix(20)) }.joined(separator: "|"))")
            }
        }

        /// Does what a trace of system calls is to show, with marks in it: looks at files that do not exist.
        static let trace: Run = { place, _ in
            let store = place.store()
            func mark(_ name: String) { _ = access("/localdata-mark/\(name)", F_OK) }
            func check(_ result: String) { if result != "applied" { writeLine(result) } }
            mark("create")
            check(await outcome(store, [.text("0", at: "first")]))
            check(await outcome(store, [.text("0", at: "second")]))
            mark("single")
            check(await outcome(store, [.text("1", at: "single")]))
            mark("group")
            await withTaskGroup { group in
                for number in 0..<64 {
                    group.addTask { check(await outcome(store, [.text("\(number)", at: "group \(number)")])) }
                }
            }
            mark("remove")
            check(await outcome(store, [.delete(StorageAddress("single"))]))
            mark("long")
            let filler = String(repeating: "x", count: 200_000)
            for number in 0..<40 { check(await outcome(store, [.text(filler, at: "long \(number % 3)")])) }
            mark("close")
            await store.close()
            mark("end")
            writeLine("done")
        }
    }
#endif
