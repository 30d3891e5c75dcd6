package import BackendContract

extension Arbitrary where Value == NativeValue {
    /// Scalar values of a property list, with frequent edge cases.
    package static var scalar: Arbitrary {
        .any(of: [
            Arbitrary<String>.text().map(NativeValue.string), Arbitrary<Int64>.number.map(NativeValue.integer),
            Arbitrary<UInt64>.number.map(NativeValue.unsigned), Arbitrary<Double>.number.map(NativeValue.real),
            Arbitrary<Bool>.flag.map(NativeValue.boolean), Arbitrary<Double>.number.map(NativeValue.date),
            Arbitrary<[UInt8]>.bytes(0...16).map(NativeValue.data),
        ])
    }

    /// Values of every kind, nested a few levels deep.
    /// - Parameter levels: The maximum number of nested lists and dictionaries.
    package static func native(_ scalars: Arbitrary = .scalar, names: Arbitrary<String> = .text(), levels: Int = 3) -> Arbitrary {
        if levels == 0 { return scalars }
        let inner = native(scalars, names: names, levels: levels - 1).limited(to: 4)
        return .any(of: [
            scalars, inner.list(0...4).map(NativeValue.array),
            zip(names, inner).list(0...4).map { entries in .dictionary(Dictionary(entries, uniquingKeysWith: { first, _ in first })) },
        ])
    }

    /// A value inside this number of nested lists and dictionaries.
    package static func nested(_ depth: ClosedRange<Int>) -> Arbitrary {
        zip(scalar, Arbitrary<Int>.number(in: depth), Arbitrary<Bool>.flag).map { value, depth, isList in
            (0..<depth).reduce(value) { value, level in
                isList == level.isMultiple(of: 2) ? .array([value]) : .dictionary(["": value])
            }
        }
    }
}

extension Arbitrary where Value == StorageMetadata {
    /// Metadata with any of its fields.
    package static var metadata: Arbitrary {
        let text = Arbitrary<String>.text().optional
        let time = Arbitrary<Double>.number.optional
        let attributes = zip(Arbitrary<String>.text(), Arbitrary<String>.text()).list(0...4)
        return zip(
            zip(text, text, text), zip(Arbitrary<Int>.number.optional, Arbitrary<[UInt8]>.bytes().optional), zip(time, time, time),
            zip(attributes, Arbitrary<Bool>.flag)
        ).map { texts, facts, times, attributes in
            StorageMetadata(
                serializer: texts.0, typeTag: texts.1, schemaVersion: facts.0, origin: facts.1, sealing: texts.2, createdAt: times.0,
                modifiedAt: times.1, expiresAt: times.2, attributes: Dictionary(attributes.0, uniquingKeysWith: { first, _ in first }),
                indexesAttributes: attributes.1)
        }
    }
}

extension Arbitrary where Value == StoragePayload {
    /// Bytes or a native value.
    package static var payload: Arbitrary {
        .any(of: [
            Arbitrary<[UInt8]>.bytes().map(StoragePayload.bytes),
            Arbitrary<NativeValue>.any(of: [.native(), .nested(0...63)]).map(StoragePayload.native),
        ])
    }
}

extension Arbitrary where Value == StorageRecord {
    /// Records with any payload, metadata and revision.
    package static var record: Arbitrary {
        zip(Arbitrary<StoragePayload>.payload, .metadata, Arbitrary<[UInt8]>.bytes(0...24)).map {
            StorageRecord(payload: $0, metadata: $1, revision: StorageRevision($2))
        }
    }
}

extension StorageRecord {
    /// The whole content of the record. The standard description redacts it.
    package var spelledOut: String { "payload \(payload.canonicalBytes), \(metadata), revision \(revision.bytes)" }
}
