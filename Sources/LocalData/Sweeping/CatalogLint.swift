import BackendContract

/// Checks a catalog for errors in the declaration of its keys. It uses only the keys: it reads no data and opens no store.
struct CatalogLint: EnginePart, Sendable {
    let engine: Engine
    let catalog: String
    let minimum: ProtectionLevel

    /// The result of a check.
    struct Finding: Sendable {
        /// The entries of the keys that have a route.
        var entries: [KeyRegistry.Entry] = []
        /// The entries of retired keys, which the program no longer uses.
        var retired: [KeyRegistry.Entry] = []
        var problems: [CatalogProblem] = []
    }

    /// Returns the entries of a catalog, and all of its problems.
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
        let live = finding.retired.isEmpty ? [] : Set((finding.entries + others).map(\.route.slot))
        for entry in finding.retired where live.contains(entry.route.slot) {
            finding.problems.append(
                CatalogProblem(
                    .retiredKeyInUse, entry.key, at: entry.route.displayName, StorageError.duplicateKey,
                    "It is retired, but a key of the program has the same slot.", "Take it out of retiredKeys, or out of allKeys."))
        }
        return finding
    }

    // MARK: One key

    private func incompleteness(of key: AnyStorageKey) -> [CatalogProblem] {
        let parts = [
            ("owner", key.owner, "Name the owner, or leave it out: then the catalog's owner applies."),
            ("description", key.description, "Describe the value, or leave the description out."),
        ]
        return parts.compactMap { part in
            guard part.1?.unicodeScalars.allSatisfy(\.properties.isWhitespace) == true else { return nil }
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
        let sources = key.sources.compactMap { try? slots.routes.route(for: $0).slot }.filter { $0 != route.slot }
        return KeyRegistry.Entry(key: key, route: route, sources: sources, reach: reach.map(\.slot), catalog: catalog)
    }

    /// Returns the route of a key. If the key cannot be used, adds a problem and returns nil.
    /// - Parameter owner: The key of the catalog to which a problem belongs: `key`, or the key that has `key` as a source.
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

    /// Returns the routes of all locations from which a key may take its value: its sources, their legacy locations, and so on. Adds a
    /// problem for each source that cannot be used, and if the sources form a cycle.
    private func reach(of key: AnyStorageKey, _ own: Route, _ problems: inout [CatalogProblem]) -> [Route] {
        var found: [Route] = []
        func follow(_ location: AnyStorageKey, _ way: [Route]) {
            for source in way.count == 1 ? location.sources : location.legacyLocations {
                guard let route = route(source, of: key, &problems), let last = way.last else { continue }
                // A migration that converts a value within its slot names this slot as its source. That is not a cycle.
                if route.slot == last.slot {
                    if way.count < 64 { follow(source, way + [route]) }
                    continue
                }
                if way.contains(where: { $0.slot == route.slot }) {
                    problems.append(
                        CatalogProblem(
                            .circle, key, at: route.displayName, StorageError.migrationFailed,
                            "Its sources form a cycle: \((way + [route]).map(\.displayName).joined(separator: " from ")).",
                            "Remove one of these sources from its key."))
                    continue
                }
                if found.contains(where: { $0.slot == route.slot }) { continue }
                found.append(route)
                follow(source, way + [route])
            }
        }
        follow(key, [own])
        return found
    }

    // MARK: Several keys

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

    /// Returns a problem for each source that the program still uses as a key. A sweep would empty the slot of that key.
    private func liveSources(_ entries: [KeyRegistry.Entry], _ others: [KeyRegistry.Entry]) -> [CatalogProblem] {
        let all = Dictionary((others + entries).map { ($0.route.slot, $0) }, uniquingKeysWith: { first, _ in first })
        let own = all.filter { $0.value.catalog == catalog }
        return (entries.map { ($0, all) } + others.map { ($0, own) }).flatMap { entry, live -> [CatalogProblem] in
            guard entry.reach.contains(where: { live[$0] != nil }) else { return [] }
            return moved(to: entry).compactMap { live[$0] }.sorted { $0.route.displayName < $1.route.displayName }.map { source in
                CatalogProblem(
                    .liveSource, entry.key, at: source.route.displayName, StorageError.unsupported,
                    "Its source \(source.key.name) is a key that \(source.key.owner ?? "another part of the program") still uses: a sweep would empty it.",
                    "To start with a copy of its value, use copied(from:). To replace the source, take it out of its catalog.")
            }
        }
    }

    /// Returns the slots that a sweep would empty: the legacy locations of an entry. Keys that are only copied are not included.
    private func moved(to entry: KeyRegistry.Entry) -> [PhysicalSlot] {
        (try? LegacyLocations(engine: engine).all(entry.key.legacyLocations, of: entry.route.slot).map(\.route.slot)) ?? []
    }

    // MARK: Sources

    /// Returns a problem for each migration whose destination has weaker protection or weaker durability than a source, unless the
    /// options of the migration allow that.
    private func weakerSources(of entry: KeyRegistry.Entry) -> [CatalogProblem] {
        // A custom migration has no options, and is not checked.
        let ways =
            entry.key.collection?.legacyLocations.map { ([$0.key], $0.source.options) }
            ?? entry.key.migrations.compactMap { migration in migration.options.map { (migration.sources, $0) } }
        let slot = UntypedSlot(key: entry.key.base, route: entry.route)
        return ways.compactMap { sources, options in
            do { try Mover(engine: engine).checkProtection(of: sources, options, slot) } catch {
                return CatalogProblem(
                    .weakerDestination, entry.key, at: entry.route.displayName, StorageError.weakerProtection,
                    (error as? StorageError)?.message ?? "", "Until then its values stay where they are.")
            }
            return nil
        }
    }

    /// Returns a problem if a release window is over, or if it never ends because the program states no version.
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

    /// Returns the problems of release windows that cannot work, that are over, or that never end.
    private func windows(_ entries: [KeyRegistry.Entry], _ others: [KeyRegistry.Entry]) -> [CatalogProblem] {
        entries.flatMap { entry -> [CatalogProblem] in
            guard let (slot, window, source) = kept(by: entry), let older = try? slots.routes.route(for: source) else { return [] }
            func problem(
                _ kind: CatalogProblem.Kind, _ code: StorageError.Code, _ message: String, _ remedy: String
            ) -> CatalogProblem { CatalogProblem(kind, entry.key, at: older.displayName, code, message, remedy) }
            var problems: [CatalogProblem] = []
            do { _ = try windowPlaces.place(of: slot, nil) } catch {
                let error = error as? StorageError
                problems.append(
                    problem(.unusableWindow, error?.code ?? StorageError.unsupported, error?.message ?? "", "Change the key's migration."))
            }
            if let other = (entries + others).first(where: { $0.route.slot != entry.route.slot && $0.reach.contains(older.slot) }) {
                problems.append(
                    problem(
                        .unusableWindow, StorageError.unsupported,
                        "Its release window keeps \(source.name) up to date, and \(other.title) takes its value from there too.",
                        "Let only one key take its value from there."))
            }
            return problems + end(of: window, entry, at: older.displayName, once: "has emptied the legacy location")
        }
    }

    /// Returns the release window of an entry, with the slot of the value and the key of the legacy location; nil if there is no window.
    /// For a collection, the slot is that of one record.
    private func kept(by entry: KeyRegistry.Entry) -> (slot: UntypedSlot, window: ReleaseWindow, source: AnyStorageKey)? {
        if let collection = entry.key.collection {
            guard let location = collection.legacyLocations.first(where: { $0.source.window != nil }), let window = location.source.window,
                let slot = try? slots.routes.slot(collection.anyKey(entry.key.name))
            else { return nil }
            return (slot, window, location.key)
        }
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
                why = ("It names the source \(source.name) twice: the second one is never read.", "Remove one of them.")
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
