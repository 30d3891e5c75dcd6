import LocalData

/// The differences between a catalog and its recorded snapshot.
struct SchemaDifferences {
    /// Changes that would make stored values unreadable.
    var problems: [String] = []
    /// Harmless changes. A test run with `LOCALDATA_RECORD=1` adds them to the snapshot.
    var news: [String] = []

    /// Compares a catalog with its recorded snapshot.
    init(_ shapes: [EntityShape], catalog: String, recorded: CatalogSnapshot) {
        let now = CatalogSnapshot.named(shapes)
        for (name, shape) in now {
            guard let before = recorded.entities[name] else {
                news.append("\(catalog)/\(name) is new")
                continue
            }
            compare(shape, "\(catalog)/\(name)", with: before)
        }
        let known = Set(now.map(\.0))
        for name in recorded.entities.keys.sorted() where !known.contains(name) {
            news.append("\(catalog)/\(name) was removed: its stored values stay there unread, unless another key migrates them")
        }
    }

    private mutating func compare(_ shape: EntityShape, _ name: String, with before: CatalogSnapshot.Entity) {
        if shape.domain != before.domain {
            let what = "\(name) moved from \(before.domain) to \(shape.domain)"
            if shape.mayMove { news.append(what) } else { problems.append("\(what); name the source with moved(from:)") }
        }
        if shape.serializer != before.serializer {
            let readable = Set([shape.serializer, before.serializer]).isSubset(of: ["json", "plist"])
            let what = "\(name) changed its serializer from \(before.serializer) to \(shape.serializer)"
            if readable || shape.mayMove { news.append(what) } else { problems.append("\(what), which cannot read the former format") }
        }
        if (shape.recordTag == nil) != (before.recordTag == nil) {
            problems.append(
                "\(name) \(shape.recordTag == nil ? "is a key now and was a collection" : "is a collection now and was a key"); give it another name"
            )
        } else if let tag = shape.recordTag, let former = before.recordTag, tag != former {
            news.append(
                "\(name) changed the tag of its records from \(former) to \(tag): keep the tag with typeTag, or convert the records with migrateAll(from:to:)"
            )
        }
        for version in before.versions.keys.sorted() where !shape.canRead(version: version) {
            problems.append(
                version > shape.version
                    ? "\(name) had version \(version) and has \(shape.version): a version must not decrease"
                    : "\(name) has version \(shape.version), but has no steps from the recorded version \(version); add them with evolving(_:)"
            )
        }
        let properties = CatalogSnapshot.Property.all(of: shape.type)
        if let recorded = before.versions[shape.version] {
            compare(properties, name, with: recorded, shape)
        } else if shape.version > before.version {
            news.append("\(name) has version \(shape.version) now")
        }
    }

    private mutating func compare(
        _ properties: [String: CatalogSnapshot.Property], _ name: String, with recorded: [String: CatalogSnapshot.Property],
        _ shape: EntityShape
    ) {
        func place(_ way: String) -> String { way == CatalogSnapshot.Property.whole ? name : "\(name).\(way)" }
        var broken: [String] = []
        var renamed: Set<String> = []
        for (way, property) in properties.sorted(by: { $0.key < $1.key }) {
            if let before = recorded[way] {
                if before.type != property.type {
                    broken.append("\(place(way)) was \(before.type) and is \(property.type)")
                } else if before.mayBeMissing, !property.mayBeMissing {
                    broken.append("\(place(way)) \(before.isOptional ? "was optional" : "had a default") and is required")
                } else if before != property {
                    news.append("\(place(way)) was “\(before)” and is “\(property)”")
                }
                continue
            }
            // Defaults and former names apply only to top-level properties. An optional property may be missing at any level.
            let isOwn = !way.contains { ".[{".contains($0) }
            if isOwn, let former = property.formerName, properties[former] == nil, let before = recorded[former] {
                renamed.insert(former)
                if before.type == property.type {
                    news.append("\(place(way)) was \(place(former))")
                } else {
                    broken.append("\(place(former)) was \(before.type), and as \(place(way)) it is \(property.type)")
                }
            } else if property.isOptional || isOwn && property.hasDefault || isPartOfNews(way, properties, recorded) {
                news.append("\(place(way)) is new")
            } else {
                broken.append("\(place(way)) is new and required, but older values do not have it")
            }
        }
        for way in recorded.keys.sorted() where properties[way] == nil && !isBelow(way, renamed) {
            broken.append("\(place(way)) was removed")
        }
        if shape.convertsInPlace {
            news += broken
        } else {
            problems += broken.map { "\($0); raise the version and add a step" }
        }
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
    func keepingHistory(of recorded: CatalogSnapshot) -> CatalogSnapshot {
        var next = self
        for (name, entity) in recorded.entities {
            next.entities[name]?.versions.merge(entity.versions) { now, _ in now }
        }
        return next
    }
}
