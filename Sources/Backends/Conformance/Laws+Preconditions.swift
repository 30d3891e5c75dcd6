import BackendContract

extension BackendLaw {
    static let preconditions: [BackendLaw] = [
        BackendLaw("a check changes nothing, and succeeds if its precondition holds") { store, _ in
            let address = StorageAddress("checked")
            let nothing = try await store.apply(.check(address, if: .absent))
            try demand(nothing.isApplied, "applied for a check of an empty slot", found: nothing.outline)
            try await store.demandAbsent(address, "after a check")
            try await refuses(store, .check(address, if: .revision(StorageRevision([1]))), "a revision on an empty slot")
            let revision = try await store.put(bytes("first"), at: address)
            try await refuses(store, .check(address, if: .absent), "absent on a value")
            for condition in [StorageMutation.Precondition.revision(revision), .none] {
                guard case .applied(revision, _) = try await store.apply(.check(address, if: condition)) else {
                    throw LawViolation(expected: "applied, with the revision of the value", found: "another result for a check")
                }
            }
            let record = try await store.demandValue(bytes("first"), at: address)
            try demand(record.revision == revision, "the same revision after a check", found: "another one")
            try await store.put(bytes("second"), at: address)
            try await refuses(store, .check(address, if: .revision(revision)), "the revision of a value that was replaced")
        },
        BackendLaw("a batch with a failing check changes nothing", requires: \.atomicBatch) { store, _ in
            let (mark, address) = (StorageAddress("mark"), StorageAddress("moved"))
            let seen = try await store.put(bytes("first"), at: mark)
            try await store.put(bytes("second"), at: mark)
            for batch in [
                [StorageMutation.put(bytes("x"), at: address, if: .absent), .check(mark, if: .revision(seen))],
                [.check(mark, if: .absent), .put(bytes("x"), at: address, if: .absent)],
            ] {
                let results = try await store.apply(batch)
                try demand(
                    results.contains(where: \.isConflict) && !results.contains(where: \.isApplied), "a conflict, and nothing applied",
                    found: results.map(\.outline).joined(separator: ", "))
                try await store.demandAbsent(address, "after a batch whose check did not hold")
            }
            guard let now = try await store.read(mark).revision else { throw LawViolation(expected: "a revision", found: "none") }
            let results = try await store.apply([.put(bytes("x"), at: address, if: .absent), .check(mark, if: .revision(now))])
            try demand(results.allSatisfy(\.isApplied), "a batch whose check holds", found: results.map(\.outline).joined(separator: ", "))
            try await store.demandValue(bytes("x"), at: address)
        },
        BackendLaw("the precondition absent holds for an empty slot only") { store, _ in
            let address = StorageAddress("absent")
            try await store.put(bytes("first"), at: address, if: .absent)
            try await refuses(store, .put(bytes("second"), at: address, if: .absent), "absent on a value")
            try await refuses(store, .tombstone(at: address, if: .absent), "absent on a value")
            try await refuses(store, .delete(address, if: .absent), "absent on a value")
            try await store.writeTombstone(address)
            try await refuses(store, .put(bytes("second"), at: address, if: .absent), "absent on a tombstone")
            try await refuses(store, .tombstone(at: address, if: .absent), "absent on a tombstone")
            try await store.empty(address)
            try await store.empty(address, if: .absent)
            _ = try await store.hold(.tombstone(at: address, if: .absent))
            try await store.empty(address)
            try await store.put(bytes("third"), at: address, if: .absent)
        },
        BackendLaw("the precondition of a revision holds for that state only") { store, _ in
            let (address, other) = (StorageAddress("revision"), StorageAddress("other"))
            let elsewhere = try await store.put(bytes("same"), at: other)
            let first = try await store.put(bytes("same"), at: address)
            try await refuses(store, .put(bytes("new"), at: address, if: .revision(elsewhere)), "another slot's revision")
            try await refuses(store, .put(bytes("new"), at: address, if: .revision(StorageRevision([]))), "an empty revision")
            try await refuses(store, .put(bytes("new"), at: address, if: .revision(StorageRevision([9, 9]))), "a made-up revision")
            let second = try await store.put(bytes("same"), at: address, if: .revision(first))
            try await refuses(store, .put(bytes("new"), at: address, if: .revision(first)), "a revision that was replaced")
            try await refuses(store, .delete(address, if: .revision(first)), "a revision that was replaced")
            try await refuses(store, .tombstone(at: address, if: .revision(first)), "a revision that was replaced")
            let grave = try await store.hold(.tombstone(at: address, if: .revision(second)))
            try await refuses(store, .put(bytes("new"), at: address, if: .revision(second)), "the revision of a value that was removed")
            let third = try await store.put(bytes("same"), at: address, if: .revision(grave))
            try await store.empty(address, if: .revision(third))
        },
        BackendLaw("the revision of a deleted value is never valid again, even if an equal value is put") { store, _ in
            let address = StorageAddress("back")
            let first = try await store.put(bytes("same"), at: address)
            try await store.empty(address)
            try await refuses(store, .put(bytes("new"), at: address, if: .revision(first)), "the revision of a deleted value")
            try await refuses(store, .delete(address, if: .revision(first)), "the revision of a deleted value")
            try await store.demandAbsent(address, "after a put that conflicted")
            try await store.put(bytes("same"), at: address)
            try await refuses(store, .put(bytes("new"), at: address, if: .revision(first)), "the revision before the delete")
        },
        BackendLaw("the precondition replaceable refuses only a later schema version, and any origin") { store, _ in
            let address = StorageAddress("version")
            let (second, third) = (StorageMetadata(schemaVersion: 2), StorageMetadata(schemaVersion: 3))
            let condition = StorageMutation.Precondition.replaceable(version: 2)
            try await store.put(bytes("into an empty slot"), second, at: address, if: condition)
            try await store.put(bytes("over its own version"), third, at: address, if: condition)
            let why = "replaceable on a value of a later version"
            try await refuses(store, .put(bytes("over a later one"), second, at: address, if: condition), why)
            try await refuses(store, .tombstone(at: address, if: condition), why)
            try await refuses(store, .delete(address, if: condition), why)
            try await store.put(bytes("over the later one"), at: address, if: .replaceable(version: 3))
            _ = try await store.hold(.tombstone(third, at: address, if: condition))
            try await store.put(bytes("over a tombstone"), StorageMetadata(schemaVersion: 1), at: address, if: condition)
            _ = try await store.hold(.put(bytes("over an earlier one"), second, at: address, if: condition))
            try await store.empty(address, if: condition)
            try await store.empty(address, if: condition)
            let any = StorageMutation.Precondition.replaceable(version: nil)
            try await store.put(bytes("with an origin"), StorageMetadata(schemaVersion: 1, origin: [1]), at: address)
            for refused in [condition, any] {
                try await refuses(store, .put(bytes("over an origin"), second, at: address, if: refused), "replaceable on an origin")
                try await refuses(store, .delete(address, if: refused), "replaceable on an origin")
            }
            _ = try await store.hold(.tombstone(StorageMetadata(origin: [1]), at: address))
            for refused in [condition, any] {
                try await refuses(
                    store, .put(bytes("over a removal"), second, at: address, if: refused), "replaceable on a removal's origin")
            }
            try await store.put(bytes("of a later version"), third, at: address)
            try await store.put(bytes("over any version"), second, at: address, if: any)
        },
        BackendLaw("of 16 concurrent puts, the one with the latest schema version wins") { store, bench in
            for round in 0..<bench.count(10) {
                let address = StorageAddress("raced \(round)")
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for task in 0..<16 {
                        group.addTask {
                            let version = task == 8 ? 2 : 1
                            let metadata = StorageMetadata(schemaVersion: version)
                            let change = StorageMutation.put(
                                bytes("version \(version)"), metadata, at: address, if: .replaceable(version: version))
                            let result = try await store.apply(change)
                            try demand(
                                result.isApplied || result.isConflict && version == 1,
                                version == 1 ? "applied, or a conflict" : "applied", found: result.outline)
                        }
                    }
                    try await group.waitForAll()
                }
                try await store.demandValue(bytes("version 2"), at: address, ", the later one,")
            }
        },
        BackendLaw("of 100 tasks that change one state exactly one wins, in every round") { store, bench in
            try await contend(over: [store], rounds: bench.count(10))
        },
        BackendLaw("of 100 tasks over two instances exactly one wins, in every round", needs: [.reopening], requires: \.crossProcess) {
            bench in
            let store = try await bench.makeStore()
            try await contend(over: [store, bench.reopened(store)], rounds: bench.count(10))
        },
    ]

    /// Tries to make a change whose precondition does not hold. Demands the result `conflict` with the current state of
    /// the slot (the location of the value). This state must not change.
    private static func refuses(_ store: any StorageBackend, _ mutation: StorageMutation, _ why: String) async throws {
        let before = try await store.read(mutation.address, .fresh)
        let result = try await store.apply(mutation)
        guard case .conflict(let probe) = result else {
            throw LawViolation(expected: "conflict for the precondition \(why)", found: result.outline)
        }
        try demand(probe.isExactly(before), "a conflict that shows \(before.outline) unchanged", found: probe.outline)
        let after = try await store.read(mutation.address, .fresh)
        try demand(after.isExactly(before), "\(before.outline) untouched by a conflict", found: after.outline)
    }

    private static func contend(over stores: [any StorageBackend], rounds: Int) async throws {
        let address = StorageAddress("contended")
        var precondition = StorageMutation.Precondition.absent
        for round in 0..<rounds {
            let results = try await withThrowingTaskGroup(of: (String, MutationResult).self) { [precondition] group in
                for task in 0..<100 {
                    let content = "round \(round), task \(task)"
                    group.addTask {
                        (content, try await stores[task % stores.count].apply(.put(bytes(content), at: address, if: precondition)))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let winners = results.filter(\.1.isApplied)
            try demand(winners.count == 1, "one winner of 100 in round \(round)", found: "\(winners.count) winners")
            for (_, result) in results where !result.isApplied {
                try demand(result.isConflict, "conflict for the losers", found: result.outline)
            }
            guard let (content, result) = winners.first, case .applied(let revision?, _) = result else {
                throw LawViolation(expected: "a winner with a revision", found: "one without")
            }
            for store in stores {
                let record = try await store.demandValue(bytes(content), at: address, " of the winner")
                try demand(record.revision == revision, "the winner's revision", found: "another one")
            }
            precondition = .revision(revision)
        }
    }
}
