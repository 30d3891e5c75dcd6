#if Configuration
    import BackendRuntime
    import LocalData
    import Synchronization

    /// The values of a provider in memory, with the running watches.
    struct ProviderState: Sendable {
        /// Receives the values before and after a change. At the beginning of the watch there are no values before.
        typealias Watcher = @Sendable (_ old: StorageConfigSnapshot?, _ new: StorageConfigSnapshot) -> Void

        var snapshot: StorageConfigSnapshot
        var watchers: [UInt64: Watcher] = [:]
        var followers: [SettingSlot: SettingFollower] = [:]
        private var lastNumber: UInt64 = 0

        init(_ snapshot: StorageConfigSnapshot) { self.snapshot = snapshot }

        /// Returns the next number. Numbers order the reads of values, and identify watches.
        mutating func next() -> UInt64 {
            lastNumber += 1
            return lastNumber
        }
    }

    /// A task that follows one stored value, for all watches of this value.
    struct SettingFollower: Sendable {
        let number: UInt64
        let wakes: AsyncStream<Void>.Continuation
        let task: ScheduledAction
        var watches = 1
    }

    /// Watches: how changes of stores reach the values in memory, and those who watch them.
    extension StorageConfigProvider {
        /// The values in memory.
        var current: StorageConfigSnapshot { state.withLock { $0.snapshot } }

        /// Changes the values in memory, and notifies the watchers if that changed anything. The lock is held during the
        /// notification, so watchers receive changes in their order.
        func change(_ body: (inout ProviderState) -> Void) {
            state.withLock { state in
                let old = state.snapshot
                body(&state)
                guard state.snapshot.changes != old.changes else { return }
                for notify in state.watchers.values { notify(old, state.snapshot) }
            }
        }

        /// Begins a watch: notifies it of the values in memory, and follows stored values until ``endWatch(_:_:)``.
        /// - Returns: The number of the watch.
        func beginWatch(_ slots: [SettingSlot], _ notify: @escaping ProviderState.Watcher) -> UInt64 {
            state.withLock { state in
                let number = state.next()
                state.watchers[number] = notify
                notify(nil, state.snapshot)
                for slot in slots { retain(slot, &state) }
                return number
            }
        }

        /// Ends a watch.
        func endWatch(_ number: UInt64, _ slots: [SettingSlot]) {
            let unused = state.withLock { state in
                state.watchers[number] = nil
                return slots.compactMap { Self.release($0, &state) }
            }
            for follower in unused { follower.task.cancel() }
        }

        /// Lets the followers of values try again, if the store could not be read.
        func wake(_ slots: some Sequence<SettingSlot>) {
            state.withLock { state in
                for slot in slots { state.followers[slot]?.wakes.yield() }
            }
        }

        private func retain(_ slot: SettingSlot, _ state: inout ProviderState) {
            if state.followers[slot] != nil {
                state.followers[slot]?.watches += 1
                return
            }
            let number = state.next()
            let (attempts, wakes) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            wakes.yield()
            let task = reader.storage.configuration.runtime.tasks.spawn { [self] in await follow(slot, number, attempts) }
            state.followers[slot] = SettingFollower(number: number, wakes: wakes, task: task)
        }

        /// Returns the follower of a value if no watch needs it any more.
        private static func release(_ slot: SettingSlot, _ state: inout ProviderState) -> SettingFollower? {
            state.followers[slot]?.watches -= 1
            return state.followers[slot]?.watches == 0 ? state.followers.removeValue(forKey: slot) : nil
        }

        /// Follows a stored value until the task is cancelled. If the store cannot be read, the next attempt begins when
        /// a fetch or a reload has read the value.
        private func follow(_ slot: SettingSlot, _ number: UInt64, _ attempts: AsyncStream<Void>) async {
            for await _ in attempts {
                do {
                    try await reader.follow(slot) { found in
                        applyFollowed(slot, number) { snapshot, number in snapshot.put(found, at: slot, number) }
                    }
                } catch {
                    if Task.isCancelled { return }
                    let failure = SettingFailure(slot, error)
                    applyFollowed(slot, number) { snapshot, number in snapshot.fail(failure, number) }
                    report(failure)
                }
            }
        }

        /// Changes the values in memory, unless the follower has ended.
        private func applyFollowed(
            _ slot: SettingSlot, _ follower: UInt64, _ body: (inout StorageConfigSnapshot, _ number: UInt64) -> Void
        ) {
            change { state in
                guard state.followers[slot]?.number == follower else { return }
                let number = state.next()
                body(&state.snapshot, number)
            }
        }
    }
#endif
