import BackendContract

/// Encodes values for their slots, and in open release windows also for the legacy location.
struct ValuePreparer: EnginePart, Sendable {
    let engine: Engine

    /// Encodes a value, and where a release window is open its older shape too.
    /// - Throws: ``StorageError`` with `encodingFailed`, also for a value that the older shape cannot represent if there is no function that merges both.
    func prepare<Value>(_ value: Value, _ slot: Slot<Value>, _ facts: WriteAttributes) throws -> EncodedValue {
        var prepared = try coder.prepare(value, slot, facts)
        guard let window = slot.key.releaseWindow, window.isOpen(for: history.applicationVersion) else { return prepared }
        for migration in slot.key.migrations {
            guard let step = migration.step(for: Value.self), let kept = step.kept else { continue }
            prepared.older = [try older(value, prepared.bytes, slot, step, kept)]
        }
        return prepared
    }

    private func older<Value>(
        _ value: Value, _ bytes: [UInt8], _ slot: Slot<Value>, _ step: MigrationStep<Value>, _ kept: MirroredSource<Value>
    ) throws -> EncodedValue {
        func refusal(_ what: String, _ error: (any Error)? = nil) -> StorageError {
            StorageError(.encodingFailed, key: slot.name, "\(what) Nothing was changed.", underlying: error)
        }
        func encode<Key: TypedKey>(_ key: Key, _ older: any Sendable) throws -> EncodedValue {
            guard let older = older as? Key.Value else {
                throw refusal(
                    "The release window's source \(key.name) holds values of another type than \(Value.self). Give moved(from:keeping:) a transformation and down:."
                )
            }
            return try coder.prepareForEarlierReleases(older, try slots.routes.slot(for: key.typed))
        }
        let older: any Sendable
        do { older = try kept.down(value) } catch let error as StorageError { throw error } catch {
            throw refusal("The older shape of the value could not be made: down: failed (\(type(of: error))).", error)
        }
        if kept.changesShape, kept.merge == nil {
            let again: Value?
            do { again = try step.combine([older]) } catch {
                throw refusal("What comes back from the older shape could not be made (\(type(of: error))).", error)
            }
            guard let again, try coder.bytes(of: again, slot.key) == bytes else {
                throw refusal(
                    "The older shape that the release window keeps in \(step.sources[0].name) does not tell all of the value: what comes back from it is another value. Give moved(from:keeping:) a merge:, or keep what the older shape lacks in a key of its own."
                )
            }
        }
        return try encode(step.sources[0].base, older)
    }
}
