import BackendContract
import Foundation

/// The older shapes of a value that was encoded, for programs of an earlier release. They are made when the value is written: only then is it known which of them are needed.
struct OlderShapes: Sendable {
    let window: ReleaseWindow
    /// The versions, the latest first; the last one is what the oldest program of the window reads.
    let versions: [Int]
    /// Whether the newer shapes are kept beside an older one; otherwise the older one has to tell everything.
    let keepsNewer: Bool
    /// Makes the value in the shape of each version.
    let make: @Sendable () throws -> [EncodedValue]
    /// Fails unless the value in an older shape tells everything that the value does.
    let requireWhole: @Sendable (_ older: EncodedValue) throws -> Void
}

/// Writing what programs of an earlier release read.
extension RecordCoder {
    /// The older shapes of a value; nil where its key keeps none.
    func olderShapes<Value>(of value: Value, _ prepared: EncodedValue, _ key: StorageKey<Value>) -> OlderShapes? {
        guard let kept = key.keptShape, let chain = key.evolution, let oldest = kept.versions.last,
            let way = chain.wayBack(to: oldest), let format = DocumentFormat(rawValue: key.serializer.name)
        else { return nil }
        return OlderShapes(
            window: kept.window, versions: kept.versions, keepsNewer: kept.merge != nil && prepared.route.capabilities.atomicBatch,
            make: {
                let form: EvolvingValue.Form =
                    prepared.shape.serializer == format.rawValue ? .bytes(Data(prepared.bytes), format) : .value(value)
                var older = EvolvingValue(form, as: format)
                return try way.map { step in
                    do { try chain.goBack(&older, by: step, entity: key.entity, record: key.name) } catch {
                        throw refused(key, step.from.lowerBound, "The step back to it failed", error)
                    }
                    do { return try self.prepared(older, step.from.lowerBound, format, prepared) } catch {
                        throw refused(key, step.from.lowerBound, "It cannot be encoded", error)
                    }
                }
            },
            requireWhole: { older in
                let again: Value
                do { again = try evolved(.bytes(Data(older.bytes), format), from: older.shape.version, key).value } catch {
                    throw refused(key, older.shape.version, "It cannot be read back", error)
                }
                guard try bytes(of: again, key) == prepared.bytes else {
                    throw refused(
                        key, older.shape.version,
                        "It does not tell all of it, and the newer shape cannot be kept beside it: that needs a merge, and a store that commits several changes at once"
                    )
                }
            })
    }

    private func prepared(_ older: EvolvingValue, _ version: Int, _ format: DocumentFormat, _ newer: EncodedValue) throws -> EncodedValue {
        let bytes = Array(try older.encoded(format))
        let route = newer.route
        var native: NativeValue?
        if route.security.keySource == nil, route.capabilities.storesNativeValues, format == .json {
            native = older.native(json: bytes)
        }
        let shape = RecordShape(newer.shape, version: version, serializer: format.rawValue, typeTag: older.typeName)
        return EncodedValue(route: route, bytes: bytes, native: native, shape: shape, facts: newer.facts, references: .none)
    }

    private func refused<Value>(_ key: StorageKey<Value>, _ version: Int, _ why: String, _ error: (any Error)? = nil) -> StorageError {
        let isCoding = error is DecodingError || error is EncodingError
        let failure = isCoding ? error.map(CodingFailure.init) : nil
        return StorageError(
            StorageError.encodingFailed, key: key.name,
            "The value cannot be kept in the shape of version \(version), which programs of an earlier release read. \(why)\(failure.map { ": \($0)" } ?? ""). Nothing was changed.",
            underlying: failure ?? error)
    }
}

extension EvolvingValue {
    /// The name of the value's type; nil where it has none any more.
    fileprivate var typeName: String? {
        if case .value(let value) = form { String(describing: type(of: value)) } else { nil }
    }

    /// The value in the store's own terms, as the older key would write it.
    fileprivate func native(json: [UInt8]) -> NativeValue? {
        func native<Value>(_ value: Value) -> NativeValue? { NativeCoding.native(value, json: json) }
        if case .value(let value) = form { return native(value) }
        return NativeCoding.scalar(ofJSON: json)
    }
}
