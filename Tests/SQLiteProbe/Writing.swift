#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend

    extension ProbeCommand {
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
                            guard result == "applied" else { return say("\(writer) \(result)") }
                            say("\(writer) \(number)")
                        }
                    }
                }
            }
        }

        /// Adds one to a number so many times, each under the revision that was seen.
        static let count: Run = { place, arguments in
            let store = place.store()
            var (done, tries) = (0, 0)
            while done < Int(arguments[1]) ?? 0 {
                tries += 1
                let probe = try await store.read(StorageAddress(arguments[0]))
                guard probe == .absent || probe.record != nil else { return say("read \(probe.text)") }
                let condition = probe.revision.map(StorageMutation.Precondition.revision) ?? .absent
                let result = await outcome(store, [.text("\((Int(probe.text) ?? 0) + 1)", at: arguments[0], if: condition)])
                if result == "applied" { done += 1 } else if result != "conflict" { return say(result) }
            }
            say("done \(tries)")
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
                                if number == 1 { say("writing") }
                            }
                            return number
                        }
                    }
                    return await group.reduce(0, +)
                }
            }
            while listen() != nil {}
            writing.cancel()
            say("wrote \(await writing.value)")
        }

        /// Makes a database with one value, as soon as standard input says so.
        static let create: Run = { place, arguments in
            let store = place.store()
            say("ready")
            guard listen() != nil else { return }
            say(await outcome(store, [.text(arguments[0], at: arguments[0])]))
            await store.close()
        }

        /// Stores values one after the other, in two slots each, tells what became of each, and then what stands there.
        static let puts: Run = { place, arguments in
            let (prefix, count, size) = (arguments[0], Int(arguments[1]) ?? 0, Int(arguments[2]) ?? 0)
            let store = place.store()
            let filler = String(repeating: "x", count: size)
            for number in 0..<count {
                let text = "\(number) \(filler)"
                say(
                    "put \(number) \(await outcome(store, [.text(text, at: "\(prefix) \(number)"), .text(text, at: "\(prefix) \(number)'")]))"
                )
            }
            for number in 0..<count {
                let probes = try await store.read([StorageAddress("\(prefix) \(number)"), StorageAddress("\(prefix) \(number)'")], .fresh)
                say("get \(number) \(probes.map { String($0.text.prefix(20)) }.joined(separator: "|"))")
            }
        }

        /// Does what a trace of system calls is to show, with marks in it: looks at files that do not exist.
        static let trace: Run = { place, _ in
            let store = place.store()
            func mark(_ name: String) { _ = access("/localdata-mark/\(name)", F_OK) }
            func check(_ result: String) { if result != "applied" { say(result) } }
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
            say("done")
        }
    }
#endif
