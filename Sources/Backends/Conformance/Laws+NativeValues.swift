import BackendContract

extension BackendLaw {
    static let nativeValues: [BackendLaw] = [
        BackendLaw("a native value of every kind is read as written", requires: \.storesNativeValues) { store, _ in
            for (index, value) in everyKind.enumerated() {
                let address = StorageAddress("native \(index)")
                try await store.put(.native(value), StorageMetadata(serializer: "json"), at: address)
                let record = try await store.demandValue(.native(value), at: address)
                try demand(record.metadata.serializer == "json", "the metadata of a native value", found: "other metadata")
            }
        },
        BackendLaw(
            "a native value that is hard to hold comes back to the last bit, or is refused as unsupported", requires: \.storesNativeValues
        ) { store, _ in
            for (index, value) in hardKinds.enumerated() {
                let address = StorageAddress("hard \(index)")
                try await store.put(bytes("old"), at: address)
                let result = try await store.apply(.put(.native(value), at: address))
                if result.isApplied {
                    try await store.demandValue(.native(value), at: address, " (number \(index) of the hard ones)")
                } else {
                    try demand(
                        result.failure?.code == .unsupported && result.failure?.outcome == .notApplied,
                        "a refusal as unsupported, not applied (number \(index) of the hard ones)", found: result.outline)
                    try await store.demandValue(bytes("old"), at: address, " before the one that was refused")
                }
            }
        },
        BackendLaw("a backend without native values refuses them as unsupported", requires: { !$0.storesNativeValues }) { store, _ in
            let address = StorageAddress("native")
            try await store.put(bytes("old"), at: address)
            let result = try await store.apply(.put(.native(.string("new")), at: address))
            try demand(
                result.failure?.code == .unsupported && result.failure?.outcome == .notApplied, "a refusal as unsupported, not applied",
                found: result.outline)
            try await store.demandValue(bytes("old"), at: address, " before the one that was refused")
        },
    ]

    static var everyKind: [NativeValue] {
        [
            .string("plain"), .string(""), .string("two\nlines\tand \"quotes\" <&> 🗝️"), .integer(0), .integer(.min), .integer(.max),
            .integer(-1),
            .unsigned(.max), .real(0.1), .real(-1.5e300), .real(.leastNonzeroMagnitude), .boolean(true), .boolean(false),
            .date(0), .date(700_000_000), .date(-1_000_000_000), .data([]), .data(Array(0...255)), .array([]),
            .array([.integer(1), .string("two"), .array([.boolean(true)])]), .dictionary([:]),
            .dictionary(["a": .integer(1), "b": .dictionary(["c": .data([0, 255])]), "": .string("no name"), "🗝️": .real(2.5)]),
        ]
    }

    /// Values that a store can easily change by mistake: by a text format, by bridging, or by comparing equivalent
    /// texts.
    private static var hardKinds: [NativeValue] {
        [
            .real(.nan), .real(.infinity), .real(-.infinity), .real(-0.0), .real(3), .integer(1), .unsigned(1), .date(0.25), .date(1e18),
            .date(.nan), .string("\u{0}"), .string("a\u{8}b"), .string("\r\n"), .string(" \t leading and trailing \n"), .string("\u{FFFE}"),
            .string("e\u{301}"), .string("\u{E9}"), .string("\u{FEFF}mark"), .string("]]>"), .dictionary(["e\u{301}": .string("\u{E9}")]),
            .dictionary(["\u{0}": .integer(0)]), .dictionary(["CF$UID": .integer(1)]), .array([.real(1), .integer(1), .boolean(true)]),
            (0..<80).reduce(.integer(1)) { inner, _ in .array([inner]) },
        ]
    }
}
