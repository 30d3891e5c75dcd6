import LocalData

/// The differences between a catalog and its recorded snapshot.
package struct SchemaDifferences {
    /// All differences, in the order of the catalog's keys.
    package private(set) var changes: [SchemaChange] = []

    /// Changes that would make stored values unreadable.
    var problems: [String] { changes.filter { $0.effect != .harmless }.map(\.description) }
    /// Harmless changes. A test run with `LOCALDATA_RECORD=1` adds them to the snapshot.
    var news: [String] { changes.filter { $0.effect == .harmless }.map(\.description) }

    /// Compares a catalog with its recorded snapshot.
    package init(_ shapes: [EntityShape], catalog: String, recorded: CatalogSnapshot) {
        let now = CatalogSnapshot.named(shapes)
        for (name, shape) in now {
            var entity = EntityComparison(name: name, place: "\(catalog)/\(name)")
            if let before = recorded.entities[name] {
                entity.compare(shape, with: before)
            } else {
                entity.add(.harmless, "\(entity.place) is new")
            }
            changes += entity.changes
        }
        let known = Set(now.map(\.0))
        for name in recorded.entities.keys.sorted() where !known.contains(name) {
            changes.append(
                SchemaChange(
                    entity: name, effect: .harmless, part: .other,
                    text: "\(catalog)/\(name) was removed: its stored values stay there unread, unless another key migrates them",
                    remedy: nil))
        }
    }
}

/// The comparison of one key or collection with its recorded entity.
private struct EntityComparison {
    /// The name in the snapshot.
    let name: String
    /// The catalog and the name, for messages.
    let place: String
    private(set) var changes: [SchemaChange] = []

    mutating func add(_ effect: SchemaChange.Effect, _ text: String, _ part: SchemaChange.Part = .other, remedy: String? = nil) {
        changes.append(
            SchemaChange(entity: name, effect: effect, part: part, text: text, remedy: effect == .harmless ? nil : remedy))
    }

    mutating func compare(_ shape: EntityShape, with before: CatalogSnapshot.Entity) {
        if shape.domain != before.domain {
            add(
                shape.mayMove ? .harmless : .refused, "\(place) moved from \(before.domain) to \(shape.domain)",
                remedy: "; name the source with moved(from:)")
        }
        if shape.serializer != before.serializer {
            let isReadable = Set([shape.serializer, before.serializer]).isSubset(of: ["json", "plist"]) || shape.mayMove
            add(
                isReadable ? .harmless : .refused, "\(place) changed its serializer from \(before.serializer) to \(shape.serializer)",
                remedy: ", which cannot read the former format")
        }
        if (shape.recordTag == nil) != (before.recordTag == nil) {
            add(
                .refused,
                "\(place) \(shape.recordTag == nil ? "is a key now and was a collection" : "is a collection now and was a key")",
                remedy: "; give it another name")
        } else if let tag = shape.recordTag, let former = before.recordTag, tag != former {
            add(
                .harmless,
                "\(place) changed the tag of its records from \(former) to \(tag): with typeTag:, it does not read the former records until migrateAll(from:to:) has converted them"
            )
        }
        compareVersions(shape, with: before)
    }

    private mutating func compareVersions(_ shape: EntityShape, with before: CatalogSnapshot.Entity) {
        var isWithoutStep = false
        for version in before.versions.keys.sorted() where !shape.canRead(version: version) {
            if version > shape.version {
                add(.refused, "\(place) had version \(version) and has \(shape.version)", remedy: ": a version must not decrease")
            } else {
                // A new step begins at the latest recorded version. For an earlier version, the chain has lost a step.
                isWithoutStep = version == before.version
                add(
                    isWithoutStep ? .needsStep : .refused,
                    "\(place) has version \(shape.version), but has no steps from the recorded version \(version)",
                    remedy: "; add them with evolving(_:)")
            }
        }
        let properties = CatalogSnapshot.Property.all(of: shape.type)
        if let recorded = before.versions[shape.version] {
            compare(properties, with: recorded, breakingChange: shape.convertsInPlace ? .harmless : .needsStep)
        } else if shape.version > before.version {
            if isWithoutStep, let recorded = before.versions[before.version] {
                // The step is needed in any case. Its draft contains the changed properties.
                var step = EntityComparison(name: name, place: place)
                step.compare(properties, with: recorded, breakingChange: .harmless)
                changes += step.changes
            }
            add(.harmless, "\(place) has version \(shape.version) now")
        }
    }

    private mutating func compare(
        _ properties: [String: CatalogSnapshot.Property], with recorded: [String: CatalogSnapshot.Property],
        breakingChange: SchemaChange.Effect
    ) {
        func place(_ way: String) -> String { way == CatalogSnapshot.Property.whole ? self.place : "\(self.place).\(way)" }
        var broken: [(text: String, part: SchemaChange.Part)] = []
        var renamed: Set<String> = []
        for (way, property) in properties.sorted(by: { $0.key < $1.key }) {
            if let before = recorded[way] {
                if before.type != property.type {
                    broken.append(("\(place(way)) was \(before.type) and is \(property.type)", .retyped(way, to: property.type)))
                } else if before.mayBeMissing, !property.mayBeMissing {
                    broken.append(
                        (
                            "\(place(way)) \(before.isOptional ? "was optional" : "had a default") and is required",
                            .missing(way, type: property.type)
                        ))
                } else if before != property {
                    add(.harmless, "\(place(way)) was “\(before)” and is “\(property)”")
                }
                continue
            }
            // Defaults and former names apply only to top-level properties. An optional property may be missing at any level.
            let isOwn = !way.contains { ".[{".contains($0) }
            if isOwn, let former = property.formerName, properties[former] == nil, let before = recorded[former] {
                renamed.insert(former)
                if before.type == property.type {
                    add(.harmless, "\(place(way)) was \(place(former))")
                } else {
                    broken.append(
                        (
                            "\(place(former)) was \(before.type), and as \(place(way)) it is \(property.type)",
                            .renamed(former, to: way, type: property.type)
                        ))
                }
            } else if property.isOptional || isOwn && property.hasDefault || isPartOfNews(way, properties, recorded) {
                add(.harmless, "\(place(way)) is new")
            } else {
                broken.append(
                    ("\(place(way)) is new and required, but older values do not have it", .missing(way, type: property.type)))
            }
        }
        for way in recorded.keys.sorted() where properties[way] == nil && !isBelow(way, renamed) {
            broken.append(("\(place(way)) was removed", .removed(way)))
        }
        for (text, part) in broken { add(breakingChange, text, part, remedy: "; raise the version and add a step") }
    }

    /// Whether a property is inside a property that is new too. If an older value lacks the outer property, the inner
    /// one is not read.
    private func isPartOfNews(
        _ way: String, _ properties: [String: CatalogSnapshot.Property], _ recorded: [String: CatalogSnapshot.Property]
    ) -> Bool {
        properties.keys.contains { recorded[$0] == nil && $0 != way && isBelow(way, [$0]) }
    }

    private func isBelow(_ way: String, _ others: Set<String>) -> Bool {
        others.contains { other in
            way == other || way.hasPrefix(other) && ".[{".contains(way.dropFirst(other.count).first ?? " ")
        }
    }
}

extension CatalogSnapshot {
    /// The current declarations, plus every older version that the recorded snapshot contains.
    package func keepingHistory(of recorded: CatalogSnapshot) -> CatalogSnapshot {
        var next = self
        for (name, entity) in recorded.entities {
            next.entities[name]?.versions.merge(entity.versions) { now, _ in now }
        }
        return next
    }

    /// The latest recorded version of a key or collection; nil if the snapshot does not contain it.
    package func version(of entity: String) -> Int? { entities[entity]?.version }
}
