import BackendContract

extension BackendLaw {
    static let metadata: [BackendLaw] = [
        BackendLaw("metadata is read exactly as written, each field alone and all together") { store, _ in
            for (index, metadata) in everyMetadata.enumerated() {
                let address = StorageAddress("described \(index)")
                try await store.put(bytes("x"), metadata, at: address)
                let record = try await store.demandValue(bytes("x"), at: address)
                try demand(
                    record.metadata.isExactly(metadata), "the metadata that was put (number \(index))",
                    found: record.metadata.differences(from: metadata))
            }
        },
        BackendLaw("a put replaces all metadata") { store, _ in
            let address = StorageAddress("described")
            for metadata in [everyMetadata[0], StorageMetadata(typeTag: "T"), StorageMetadata()] {
                try await store.put(bytes("x"), metadata, at: address)
                let record = try await store.demandValue(bytes("x"), at: address)
                try demand(
                    record.metadata.isExactly(metadata), "the metadata of the last put", found: record.metadata.differences(from: metadata))
            }
        },
        BackendLaw("metadata survives reopening", needs: [.reopening], requires: { $0.durability != .process }) { store, bench in
            let address = StorageAddress("described")
            try await store.put(bytes("x"), everyMetadata[0], at: address)
            await store.close()
            let record = try await bench.reopened(store).demandValue(bytes("x"), at: address)
            try demand(
                record.metadata.isExactly(everyMetadata[0]), "the metadata that was put",
                found: record.metadata.differences(from: everyMetadata[0]))
        },
        BackendLaw(
            "metadata counts as a part of a value's size", requires: { ($0.maximumValueSize ?? .max) <= 1 << 24 }
        ) { bench in
            guard let limit = bench.capabilities.maximumValueSize else { return }
            let store = try await bench.makeStore()
            let address = StorageAddress("described")
            try await store.put(bytes("old"), at: address)
            let most = StoragePayload.bytes([UInt8](repeating: 7, count: limit - limit / 4))
            let heavy = StorageMetadata(attributes: ["heavy": String(repeating: "x", count: limit - limit / 4)])
            for mutation in [StorageMutation.put(most, heavy, at: address), .put(bytes("light"), heavier(than: limit), at: address)] {
                let result = try await store.apply(mutation)
                try demand(
                    result.failure?.code == .tooLarge && result.failure?.outcome == .notApplied, "a refusal as tooLarge, not applied",
                    found: result.outline)
                let reason = result.failure?.reason ?? ""
                try demand(reason.contains("\(limit)"), "an error that names the limit of \(limit) bytes", found: reason)
                try await store.demandValue(bytes("old"), at: address, " before the one that was too large")
            }
        },
    ]

    private static func heavier(than limit: Int) -> StorageMetadata { StorageMetadata(origin: [UInt8](repeating: 7, count: limit + 1)) }

    private static var everyMetadata: [StorageMetadata] {
        [
            StorageMetadata(
                serializer: "json", typeTag: "Swift.String", schemaVersion: 3, origin: Array(0...255), sealing: "aes-gcm/1",
                createdAt: 1_700_000_000.123_456, modifiedAt: 1_700_000_001.5, expiresAt: 4_102_444_800,
                attributes: ["owner": "team 🗝️", "🗝️": "key", "": "no name", "empty": "", "lines": "a\nb", "nfd": "e\u{301}"]),
            StorageMetadata(), StorageMetadata(serializer: "plist"), StorageMetadata(serializer: ""),
            StorageMetadata(typeTag: "Æ <&> \"x\""),
            StorageMetadata(schemaVersion: 0), StorageMetadata(schemaVersion: -1), StorageMetadata(schemaVersion: .max),
            StorageMetadata(origin: []), StorageMetadata(origin: [0]), StorageMetadata(sealing: "e\u{301}"),
            StorageMetadata(createdAt: 0), StorageMetadata(createdAt: -0.5), StorageMetadata(modifiedAt: 0.1),
            StorageMetadata(expiresAt: 1e300),
            StorageMetadata(attributes: ["only": "attributes"]), StorageMetadata(attributes: ["not": "indexed"], indexesAttributes: false),
            StorageMetadata(indexesAttributes: false),
        ]
    }
}
