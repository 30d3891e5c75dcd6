import BackendContract

extension BackendLaw {
    static let names: [BackendLaw] = [
        BackendLaw("a hostile name works exactly, or is refused as invalidName") { store, bench in
            try await checkNames(hostileNames.map { StorageAddress($0) }, store, bench)
        },
        BackendLaw("a hostile namespace works exactly, or is refused as invalidName") { store, bench in
            let hostile = ["..", "../up", "a/b", "a.b", "\u{0}", "a\nb", "e\u{301}", "\u{E9}", "🗝️", ".hidden", "values", " "]
            try await checkNames(hostile.map { StorageAddress("x", in: StorageNamespace($0)) }, store, bench)
        },
        BackendLaw("two spellings of one text in Unicode are two names") { store, _ in
            for (composed, decomposed) in [("caf\u{E9}", "cafe\u{301}"), ("\u{C5}", "\u{212B}"), ("\u{AC00}", "\u{1100}\u{1161}")] {
                let (first, second) = (StorageAddress(composed), StorageAddress(decomposed))
                guard try await store.apply(.put(bytes("first"), at: first)).isApplied else { continue }
                let other = try await store.read(second, .fresh)
                try demand(other.record == nil, "nothing under the other spelling", found: other.outline)
                let result = try await store.apply(.put(bytes("second"), at: second))
                try await store.demandValue(bytes("first"), at: first, " under this spelling")
                if result.isApplied {
                    try await store.demandValue(bytes("second"), at: second, " under this spelling")
                    try await store.empty(second)
                }
                try await store.demandValue(bytes("first"), at: first, " under this spelling, after the other was deleted")
            }
        },
    ]

    /// Writes a different value under each name. The store also has another slot (location of one value), which must
    /// not change.
    private static func checkNames(_ addresses: [StorageAddress], _ store: any StorageBackend, _ bench: LawBench) async throws {
        let canary = StorageAddress("canary")
        let untouched = try await store.put(bytes("canary"), at: canary)
        var accepted: [(StorageAddress, StoragePayload)] = []
        for (index, address) in addresses.enumerated() {
            let payload = bytes("value \(index)")
            let result = try await store.apply(.put(payload, at: address))
            if result.isApplied {
                try demand(isPossible(address), "a refusal of name \(index), which no store accepts", found: result.outline)
                accepted.append((address, payload))
                continue
            }
            for refused in [result, try await store.apply(.tombstone(at: address)), try await store.apply(.delete(address))] {
                try demand(
                    refused.failure?.code == .invalidName && refused.failure?.outcome == .notApplied,
                    "name \(index) to work, or to be refused as invalidName", found: refused.outline)
            }
            let probe = try await store.read(address, .fresh)
            guard case .unavailable(let error) = probe, error.code == .invalidName else {
                throw LawViolation(
                    expected: "a read of name \(index), which cannot be used, to be unavailable (invalidName)", found: probe.outline)
            }
        }
        for (address, payload) in accepted { try await store.demandValue(payload, at: address, " under a hostile name") }
        let record = try await store.demandValue(bytes("canary"), at: canary, " beside hostile names")
        try demand(record.revision == untouched, "an unchanged neighbour", found: "one with another revision")
        for namespace in Set(addresses.map(\.namespace) + [.values]) where isPossible(StorageAddress("x", in: namespace)) {
            let wanted = Set((accepted.map(\.0) + [canary]).filter { $0.namespace == namespace })
            try await demandNames(wanted, in: namespace, of: store)
        }
        if let trace = try await bench.findStrayTraces?(store) { throw LawViolation(expected: "no trace outside the store", found: trace) }
        for (address, _) in accepted {
            try await store.empty(address)
            try await store.demandAbsent(address, "after the delete of a hostile name")
        }
        try await store.demandValue(bytes("canary"), at: canary, " beside hostile names that were deleted")
    }

    private static func isPossible(_ address: StorageAddress) -> Bool {
        do throws(BackendError) {
            try address.validate()
            return true
        } catch { return false }
    }

    private static var hostileNames: [String] {
        [
            "", ".", "..", "../", "../up", "../../etc/passwd", "/absolute", "a/b", "a", "A", "a\\b", "a\u{0}b", "a", "line\nbreak", "\r",
            String(repeating: "x", count: 10_000), String(repeating: "x", count: 1_024), String(repeating: "x", count: 1_025),
            String(repeating: "é", count: 512), "🗝️👩‍👩‍👧‍👦", "file:x", "file:///tmp/x", "x?mode=memory", ".hidden", "a.b", "%2e%2e", "%00", "~",
            "$HOME",
            " ", " leading", "trailing ", "\u{E9}", "e\u{301}", "\u{FEFF}mark", "\u{200B}", "\u{202E}reversed", "\u{FF41}", "<&>\"'",
            "']]>", "--x",
            "CON", "NULL", "*", "a%", "a_", "\u{7F}", "\u{85}", "\u{FFFF}", "\u{10FFFE}", "Apple.Global", "__proto__", "LocalData",
        ].reduce(into: []) { names, name in if !names.contains(where: { $0.utf8.elementsEqual(name.utf8) }) { names.append(name) } }
    }
}
