#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime

    /// Changes slots (locations of one value) one after the other. The store's lock is held from the read of a slot
    /// until the daemon's reply.
    ///
    /// An existing item is changed by its path, and a new item is created without replacing another. The daemon
    /// therefore never decides by attributes which item is overwritten. Such a comparison would also find items that
    /// have further attributes. The exception is oo7 (``SecretServiceClient/change(_:to:)``).
    struct SlotWriter {
        let store: SecretServiceStore
        let call: BusCall

        private var layout: ItemLayout { store.layout }

        func apply(_ mutations: [StorageMutation]) throws(BackendError) -> [MutationResult] {
            var results: [MutationResult?] = mutations.map { mutation in refusalBeforeLooking(mutation).map(MutationResult.failed) }
            let open = mutations.indices.filter { results[$0] == nil }
            guard !open.isEmpty else { return results.compactMap { $0 } }
            let lock = try takeLock()
            defer { lock.release() }
            let views = try store.look(at: open.map { mutations[$0].address }, call)
            for (index, view) in zip(open, views) { results[index] = apply(mutations[index], on: view) }
            return results.compactMap { $0 }
        }

        private func takeLock() throws(BackendError) -> any FileLock {
            try onDisk { () throws(FileError) in
                try store.runtime.files.createDirectory(parentDirectory(of: store.lockFile))
                return try store.runtime.files.lock(store.lockFile) { [call] in call.isNearlyOver }
            }
        }

        /// Returns the error of a mutation (a change of one slot) that is invalid whatever the keyring contains; nil if
        /// there is none.
        private func refusalBeforeLooking(_ mutation: StorageMutation) -> BackendError? {
            do throws(BackendError) {
                try layout.validate(mutation.address)
                try requireFit(mutation.byteCount)
                switch mutation.operation {
                case .put(let payload, _):
                    if layout.style.isInterop {
                        try requireFit(try KeyringPayload.text(payload).count)
                    } else if case .native = payload {
                        throw BackendError(.unsupported, "This store keeps bytes, not native values. Encode the value first.")
                    }
                case .tombstone:
                    if layout.style.isInterop {
                        throw BackendError(
                            .unsupported, "A keyring style of another program has no tombstones. Use .localData, or delete the item.")
                    }
                case .delete, .check: break
                }
                return nil
            } catch {
                return error
            }
        }

        private func requireFit(_ byteCount: Int) throws(BackendError) {
            try store.capabilities.requireFit(
                byteCount, in: "the keyring", remedy: "Keep it in an encrypted database, .encryptedSQLite.")
        }

        /// Changes a slot that was read before. Retries once if the daemon stored other bytes than it was given. Also
        /// retries once if the link or the item was lost, and the first request certainly changed nothing.
        private func apply(_ mutation: StorageMutation, on view: SlotView) -> MutationResult {
            if let refusal = view.probe.refusal(of: mutation) { return refusal }
            do throws(KeyringFault) {
                return try conversing(mutation, on: view)
            } catch {
                if error.kind == .locked { return .locked }
                let outcome = outcome(of: error, on: view)
                let isWorthwhile = error.kind == .garbled || error.isCertainlyNotDone && (error.isStale || error.kind == .vanished)
                guard isWorthwhile, !call.isOver else { return .failed(error.backendError(outcome: outcome)) }
                return applyAgain(mutation, on: view, after: error, outcome)
            }
        }

        /// Returns whether a failed request may have changed something. KWallet creates an item before it checks the
        /// session, and leaves it empty if the check fails. If KWallet has another key for the session, it may store
        /// garbage in the item.
        private func outcome(of fault: KeyringFault, on view: SlotView) -> MutationOutcome {
            let mayLeaveAnEmptyItem = fault.kind == .noSession && fault.wasSent && view.item == nil
            return fault.isCertainlyNotDone && !mayLeaveAnEmptyItem ? .notApplied : .unknown
        }

        /// Re-reads a slot and changes it. The first request may have left an empty or garbled item in the slot. In
        /// that case this item is changed, and the precondition is checked against the content from before the first
        /// request.
        private func applyAgain(
            _ mutation: StorageMutation, on first: SlotView, after fault: KeyringFault, _ outcome: MutationOutcome
        ) -> MutationResult {
            var view: SlotView
            do throws(BackendError) {
                guard let again = try store.look(at: [mutation.address], call).first else {
                    return .failed(fault.backendError(outcome: outcome))
                }
                view = again
            } catch {
                return .failed(BackendError(error.code, error.reason, outcome: outcome))
            }
            // Reason: "A session that KWallet rejects is opened again" in Docs/Decisions/Keyring.md.
            let isLeftByUs = view.item != nil && (fault.kind == .garbled || outcome == .unknown && view.isTorn)
            if isLeftByUs { view.probe = first.probe }
            if let refusal = view.probe.refusal(of: mutation) {
                return fault.kind == .garbled ? .failed(fault.backendError(outcome: .unknown)) : refusal
            }
            do throws(KeyringFault) {
                return try conversing(mutation, on: view)
            } catch {
                if error.kind == .locked, !isLeftByUs { return .locked }
                return .failed(error.backendError(outcome: isLeftByUs ? .unknown : self.outcome(of: error, on: view)))
            }
        }

        private func conversing(_ mutation: StorageMutation, on view: SlotView) throws(KeyringFault) -> MutationResult {
            try store.connection.conversing(call) { client throws(KeyringFault) in try carryOut(mutation, on: view, client) }
        }

        private func carryOut(
            _ mutation: StorageMutation, on view: SlotView, _ client: SecretServiceClient
        ) throws(KeyringFault) -> MutationResult {
            // A restarted daemon may use the same path for another item.
            // Reason: "Requests go to the daemon that gave the path" in Docs/Decisions/Keyring.md.
            guard try client.link.keeper(call) == view.keeper else { throw KeyringFault(.vanished, "the daemon was restarted") }
            let collection = view.item ?? view.collection
            let folder = try store.folder(client)
            let before = folder.file(of: collection)
            var generator = store.runtime.generator
            let revision = StorageRevision.random(using: &generator)
            var secret: [UInt8] = []
            defer { wipe(&secret) }
            switch mutation.operation {
            case .check: return .applied(view.probe.revision, folder.flush(collection))
            case .delete:
                guard let item = view.item else { return .applied(nil, folder.flush(collection)) }
                if let properties = view.properties { try client.delete(properties) } else { try client.delete(item) }
                if let failure = lookAfterDelete(item, mutation.address, client) { return .failed(failure) }
                return .applied(nil, folder.flush(changed: collection, since: before))
            case .put(let payload, _) where layout.style.isInterop:
                do throws(BackendError) { secret = try KeyringPayload.text(payload) } catch { return .failed(error) }
            case .put(let payload, let metadata):
                secret = KeyringPayload.line(StorageRecord(payload: payload, metadata: metadata, revision: revision))
            case .tombstone(let metadata):
                secret = KeyringPayload.line(StorageTombstone(metadata: metadata, revision: revision))
            }
            let item = try put(secret, on: view, mutation.address, client)
            let durability = folder.flush(changed: collection, since: before)
            return layout.style.isInterop ? stateAfterPut(item, secret, durability, client) : .applied(revision, durability)
        }

        private func put(
            _ secret: [UInt8], on view: SlotView, _ address: StorageAddress, _ client: SecretServiceClient
        ) throws(KeyringFault) -> String {
            let item: String
            if let properties = view.properties {
                item = try client.change(properties, to: secret)
            } else if let known = view.item {
                try client.replace(known, with: secret)
                item = known
            } else {
                guard let collection = view.collection else { throw KeyringFault(.refused, "no collection to write to") }
                item = try client.create(secret, attributes: layout.written(address), label: layout.label(address), in: collection)
            }
            try client.requireKept(secret, in: item)
            return item
        }

        /// Returns the result of a write to an item that stores no revision, the identifier of its state. The revision
        /// is derived from the item's path, its secret, and the modification time that the daemon recorded.
        private func stateAfterPut(
            _ item: String, _ secret: [UInt8], _ durability: StorageDurability, _ client: SecretServiceClient
        ) -> MutationResult {
            do throws(KeyringFault) {
                let modified = try client.describe(item).modified
                return .applied(KeyringPayload.revision(path: item, modified: modified, secret: secret), durability)
            } catch {
                return .failed(error.backendError(outcome: .applied))
            }
        }

        private func lookAfterDelete(_ item: String, _ address: StorageAddress, _ client: SecretServiceClient) -> BackendError? {
            do throws(KeyringFault) {
                let found = try client.search(layout.search(address))
                guard found.unlocked.contains(item) || found.locked.contains(item) else { return nil }
                return BackendError(
                    .failed, "The keyring reported that an item was deleted, but still shows it. Read it again.", outcome: .unknown)
            } catch {
                return error.backendError(outcome: .applied)
            }
        }
    }
#endif
