#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend

    extension DatabaseCommand {
        /// Runs callers that store one number after the other, in two slots at once.
        /// Prints each number once it is acknowledged, until the process is killed.
        static let serve: Run = { place, arguments in
            let store = place.store()
            await withTaskGroup { group in
                for writer in 0..<(Int(arguments[0]) ?? 1) {
                    group.addTask {
                        // The values have different sizes, so that a kill can interrupt a group anywhere.
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

        /// Increments a number a given number of times.
        static let count: Run = { place, arguments in
            let count = await countUp(StorageAddress(arguments[0]), in: place.store(), rounds: Int(arguments[1]) ?? 0) {
                .bytes(Array("\($0)".utf8))
            }
            writeLine(count)
        }

        /// Writes until standard input ends, and then prints the number of writes.
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

        /// Creates a database with one value, after a line on standard input.
        static let create: Run = { place, arguments in
            let store = place.store()
            writeLine("ready")
            guard readLine() != nil else { return }
            writeLine(await outcome(store, [.text(arguments[0], at: arguments[0])]))
            await store.close()
        }

        /// Stores values one after the other, in two slots each.
        /// Prints the result of each change, and then the content of the slots.
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

        /// Runs the operations that a trace of system calls must show.
        /// Marks the phases in the trace by checking for files that do not exist.
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
