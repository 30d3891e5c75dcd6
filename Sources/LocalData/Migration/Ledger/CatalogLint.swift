import BackendContract

/// Looks for what is wrong with a catalog, from its keys alone: nothing is read, and no store is opened.
struct CatalogLint: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let program: ProgramCode
    let catalog: String
    let minimum: ProtectionLevel

    /// What a catalog comes to.
    struct Finding: Sendable {
        var entries: [KeyRegistry.Entry] = []
        /// The keys that the program does not use any more.
        var retired: [KeyRegistry.Entry] = []
        var problems: [CatalogProblem] = []
    }

    /// The entries of a catalog, and everything that is wrong with it.
    func check(_ keys: [AnyStorageKey], retired: [AnyStorageKey]) -> Finding {
        var finding = Finding()
        for key in keys {
            finding.problems += incompleteness(of: key)
            if let entry = entry(key, &finding.problems) { finding.entries.append(entry) }
        }
        for key in retired { if let entry = entry(key, &finding.problems) { finding.retired.append(entry) } }
        let others = history.registry.entries().filter { $0.catalog != catalog }
        finding.problems += duplicates(finding.entries, others)
        finding.problems += liveSources(finding.entries, others)
        finding.problems += windows(finding.entries, others)
        for entry in finding.entries { finding.problems += weakerSources(of: entry) + unreachableSources(of: entry) }
        let live = Set((finding.entries + others).map(\.route.slot))
        for entry in finding.retired where live.contains(entry.route.slot) {
            finding.problems.append(
                CatalogProblem(
                    .retiredKeyInUse, entry.key, at: entry.route.displayName, StorageError.duplicateKey,
                    "It is retired, and a key of the program.", "Take it out of retiredKeys, or out of allKeys."))
        }
        return finding
    }

    // MARK: One key

    private func incompleteness(of key: AnyStorageKey) -> [CatalogProblem] {
        let parts = [
            ("owner", key.owner, "Say who answers for the value, or leave it to the catalog."),
            ("description", key.description, "Say what it is, or leave it out."),
        ]
        return parts.compactMap { part in
            guard part.1?.allSatisfy(\.isWhitespace) == true else { return nil }
            return CatalogProblem(
                .incompleteKey, key, at: "\(key.domain)/\(key.name)", StorageError.incompleteKey, "The key's \(part.0) is empty.", part.2)
        }
    }

    private func entry(_ key: AnyStorageKey, _ problems: inout [CatalogProblem]) -> KeyRegistry.Entry? {
        guard let route = route(key, of: key, &problems) else { return nil }
        if route.protection < minimum {
            problems.append(
                CatalogProblem(
                    .belowMinimumProtection, key, at: route.displayName, StorageError.weakerProtection,
                    "\(catalog) demands the protection \(minimum); \(route.domain) with the policy \(key.security) gives \(route.protection).",
                    "Choose a stronger place or policy for it."))
        }
        let reach = self.reach(of: key, route, &problems)
        let sources = Set(key.sources.compactMap { try? slots.routes.route(for: $0).slot }).subtracting([route.slot])
        return KeyRegistry.Entry(key: key, route: route, sources: sources, reach: Set(reach.map(\.slot)), catalog: catalog)
    }

    /// Where a key leads, or a problem of the key that names it.
    private func route(_ key: AnyStorageKey, of owner: AnyStorageKey, _ problems: inout [CatalogProblem]) -> Route? {
        do {
            let route = try slots.routes.route(for: key)
            do throws(BackendError) { try route.backend.validate(route.address) } catch { throw StorageError.from(error, key: key.name) }
            return route
        } catch {
            let error = error as? StorageError
            problems.append(
                CatalogProblem(
                    .unusablePlace, owner, at: "\(key.domain)/\(key.name)", error?.code ?? StorageError.unavailable,
                    error?.message ?? "It cannot be used.",
                    key.name == owner.name ? "Change the key." : "Change the source \(key.name), or remove it from the key."))
            return nil
        }
    }

    /// The places that a key's values may come from. One that leads back to a place on the way to it is a circle.
    private func reach(of key: AnyStorageKey, _ own: Route, _ problems: inout [CatalogProblem]) -> [Route] {
        var found: [Route] = []
        var seen: Set<PhysicalSlot> = [own.slot]
        func follow(_ location: AnyStorageKey, _ way: [Route]) {
            for source in way.count == 1 ? location.sources : location.legacyLocations {
                guard let route = route(source, of: key, &problems), let last = way.last else { continue }
                // A change of shape in place names its own slot.
                if route.slot == last.slot { continue }
                if way.contains(where: { $0.slot == route.slot }) {
                    problems.append(
                        CatalogProblem(
                            .circle, key, at: route.displayName, StorageError.migrationFailed,
                            "Its sources lead in a circle: \((way + [route]).map(\.displayName).joined(separator: " from ")).",
                            "Let the values of one of these places come from nowhere else."))
                    continue
                }
                guard seen.insert(route.slot).inserted else { continue }
                found.append(route)
                follow(source, way + [route])
            }
        }
        follow(key, [own])
        return found
    }

    // MARK: Keys beside others

    private func duplicates(_ entries: [KeyRegistry.Entry], _ others: [KeyRegistry.Entry]) -> [CatalogProblem] {
        var known = Dictionary(others.map { ($0.route.slot, $0) }, uniquingKeysWith: { first, _ in first })
        return entries.compactMap { entry in
            guard let other = known.updateValue(entry, forKey: entry.route.slot) else { return nil }
            return CatalogProblem(
                .duplicateKey, entry.key, at: entry.route.displayName, StorageError.duplicateKey,
                "\(entry.title) and \(other.title) have the same slot.",
                "Give one of them another name.")
        }
    }

    /// A source that is itself a key of the program: a sweep would take its value away.
    private func liveSources(_ entries: [KeyRegistry.Entry], _ others: [KeyRegistry.Entry]) -> [CatalogProblem] {
        let all = Dictionary((others + entries).map { ($0.route.slot, $0) }, uniquingKeysWith: { first, _ in first })
        let own = all.filter { $0.value.catalog == catalog }
        return (entries.map { ($0, all) } + others.map { ($0, own) }).flatMap { entry, live -> [CatalogProblem] in
            guard entry.reach.contains(where: { live[$0] != nil }) else { return [] }
            return moved(to: entry).compactMap { live[$0] }.sorted { $0.route.displayName < $1.route.displayName }.map { source in
                CatalogProblem(
                    .liveSource, entry.key, at: source.route.displayName, StorageError.unsupported,
                    "Its source \(source.key.name) is a key that \(source.key.owner ?? "another part of the program") still uses: a sweep would empty it.",
                    "To start with a copy of its value, use copied(from:); to replace it, take it out of its catalog.")
            }
        }
    }

    /// The places that a sweep would empty: without the keys that are copied.
    private func moved(to entry: KeyRegistry.Entry) -> [PhysicalSlot] {
        (try? LegacyLocations(slots).all(entry.key.legacyLocations, of: entry.route.slot).map(\.route.slot)) ?? []
    }

    // MARK: Sources

    /// The migrations whose sources are protected better, or kept longer, than the destination.
    private func weakerSources(of entry: KeyRegistry.Entry) -> [CatalogProblem] {
        func ofRecords<Collection: TypedCollection>(_ collection: Collection) -> [([AnyStorageKey], MigrationOptions)] {
            collection.typed.legacyLocations.map { ([$0.key], $0.source.options) }
        }
        // A custom migration has no options, and is not checked.
        let ways =
            entry.key.collection.map { ofRecords($0) }
            ?? entry.key.migrations.compactMap { migration in migration.options.map { (migration.sources, $0) } }
        let slot = UntypedSlot(key: entry.key.base, route: entry.route)
        return ways.compactMap { sources, options in
            do { try Mover(slots, coder, history, program).checkProtection(of: sources, options, slot) } catch {
                return CatalogProblem(
                    .weakerDestination, entry.key, at: entry.route.displayName, StorageError.weakerProtection,
                    (error as? StorageError)?.message ?? "", "Until then its values stay where they are.")
            }
            return nil
        }
    }

    /// What is wrong with the end of a window.
    private func end(of window: ReleaseWindow, _ entry: KeyRegistry.Entry, at place: String, once done: String) -> [CatalogProblem] {
        func problem(_ kind: CatalogProblem.Kind, _ message: String, _ remedy: String) -> [CatalogProblem] {
            [CatalogProblem(kind, entry.key, at: place, StorageError.unsupported, message, remedy)]
        }
        if !window.isOpen(for: history.applicationVersion) {
            return problem(
                .endedWindow, "Its release window, \(window), is over in this version.",
                "Take keeping: out of the key, once a sweep of every installation \(done).")
        }
        guard window.needsVersion, history.applicationVersion == nil else { return [] }
        return problem(
            .unusableWindow, "Its release window, \(window), would never end: the program does not say its version.",
            "Give the configuration a version.")
    }

    /// The release windows that cannot be kept, that are over, or that never end.
    private func windows(_ entries: [KeyRegistry.Entry], _ others: [KeyRegistry.Entry]) -> [CatalogProblem] {
        entries.flatMap { entry -> [CatalogProblem] in
            guard let (slot, window, source) = kept(by: entry), let older = try? slots.routes.route(for: source) else { return [] }
            func problem(
                _ kind: CatalogProblem.Kind, _ code: StorageError.Code, _ message: String, _ remedy: String
            ) -> CatalogProblem { CatalogProblem(kind, entry.key, at: older.displayName, code, message, remedy) }
            var problems: [CatalogProblem] = []
            do { _ = try MirroredLocations(slots, coder, history).place(of: slot, nil) } catch {
                let error = error as? StorageError
                problems.append(
                    problem(.unusableWindow, error?.code ?? StorageError.unsupported, error?.message ?? "", "Change the key's migration."))
            }
            if let other = (entries + others).first(where: { $0.route.slot != entry.route.slot && $0.reach.contains(older.slot) }) {
                problems.append(
                    problem(
                        .unusableWindow, StorageError.unsupported,
                        "Its release window keeps \(source.name) up to date, and \(other.title) takes its value from there too.",
                        "Let one key have the older place."))
            }
            return problems + end(of: window, entry, at: older.displayName, once: "has emptied the older place")
        }
    }

    /// What an entry's release window keeps: the slot of the value, or one of a collection's records, and the older place.
    private func kept(by entry: KeyRegistry.Entry) -> (slot: UntypedSlot, window: ReleaseWindow, source: AnyStorageKey)? {
        func open<Collection: TypedCollection>(
            _ collection: Collection
        ) -> (slot: UntypedSlot, window: ReleaseWindow, source: AnyStorageKey)? {
            guard let location = collection.typed.legacyLocations.first(where: { $0.source.window != nil }),
                let window = location.source.window, let slot = try? slots.routes.slot(collection.typed.key(collection.typed.name))
            else { return nil }
            return (slot, window, location.key)
        }
        if let collection = entry.key.collection { return open(collection) }
        let key = entry.key.base
        guard let window = key.releaseWindow, let kept = key.migrations.first(where: { $0.window != nil }) else { return nil }
        return (UntypedSlot(key: key, route: entry.route), window, kept.sources[0])
    }

    private func unreachableSources(of entry: KeyRegistry.Entry) -> [CatalogProblem] {
        var seen: Set<PhysicalSlot> = []
        return entry.key.sources.compactMap { source in
            guard let route = try? slots.routes.route(for: source) else { return nil }
            let why: (message: String, remedy: String)?
            if !seen.insert(route.slot).inserted {
                why = ("It names the source \(source.name) twice: the second is never looked at.", "Remove one of them.")
            } else if route.domain.kind == .memory {
                why = (
                    "Its source \(source.name) is in memory, which is empty at each start.",
                    "Remove the source once no code of this run fills it."
                )
            } else if route.slot.store.kind.hasPrefix("missing-") {
                why = (
                    "Its source \(source.name) is in \(route.domain), which this build or configuration cannot read.",
                    "Build with the backend, or skip unavailable sources."
                )
            } else {
                why = nil
            }
            return why.map {
                CatalogProblem(.unreachableSource, entry.key, at: route.displayName, StorageError.unavailable, $0.message, $0.remedy)
            }
        }
    }
}
