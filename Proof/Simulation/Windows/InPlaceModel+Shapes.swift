/// What the shapes of a value are to each other: how they are read, written, and brought together.
extension InPlaceModel {
    /// A commit that wrote nothing else that is still there.
    var fresh: Int { ([content.own].compactMap(\.self) + content.newer.values).map(\.commit).reduce(0, max) + 1 }

    /// A removal that no shape knows of.
    private var freshRemoval: Int {
        let known = ([content.own].compactMap(\.self) + content.newer.values).map(\.removal) + [content.grave ?? 0]
        return known.reduce(0, max) + 1
    }

    /// The same state, with the commits numbered in the order of the shapes.
    var canonical: InPlaceModel {
        var next = self
        next.content = Self.canonical(content)
        next.undo = Set(undo.map(Self.canonical))
        return next
    }

    private static func canonical(_ content: Content) -> Content {
        var (names, removals) = ([Int: Int](), [0: 0])
        func renamed(_ removal: Int) -> Int {
            let name = removals[removal, default: removals.count]
            removals[removal] = name
            return name
        }
        func renamed(_ shape: Shape) -> Shape {
            let name = names[shape.commit, default: names.count]
            names[shape.commit] = name
            return Shape(parts: shape.parts, commit: name, removal: renamed(shape.removal))
        }
        var next = Content(own: content.own.map(renamed), isMarked: content.isMarked, grave: content.grave.map(renamed))
        for (version, shape) in content.newer.sorted(by: { $0.key < $1.key }) { next.newer[version] = renamed(shape) }
        return next
    }

    // MARK: Reading

    /// What the step up makes of an older shape.
    static func up(_ parts: [String], to version: Int) -> [String] {
        parts + Array(repeating: nothing, count: max(0, version - parts.count))
    }

    /// What an older shape tells wins, and the rest stays.
    static func merge(_ older: [String], _ newer: [String]) -> [String] {
        [older[0]] + zip(older, newer).dropFirst().map { $0 == nothing ? $1 : $0 }
    }

    /// A value, and what came to it.
    private struct Seen {
        var parts: [String]
        /// Whether not all shapes are of one commit, or the newest is not there.
        var isUnmerged = false
        /// Newer shapes that nothing merges with what was written over them.
        var displaced: [Shape] = []
    }

    /// From the newest shape down: each that is of another commit was written later, by an earlier release.
    private func seen(_ own: Shape, by reader: Reader) -> Seen {
        if own.version == reader.newest { return Seen(parts: own.parts) }
        let newer = content.newer.filter { $0.key > own.version && $0.key <= reader.newest }.sorted { $0.key > $1.key }.map(\.value)
        guard let top = newer.first else { return Seen(parts: Self.up(own.parts, to: reader.newest)) }
        var seen = Seen(parts: Self.up(top.parts, to: reader.newest), isUnmerged: top.version < reader.newest)
        var last = top
        for (index, lower) in (newer.dropFirst() + [own]).enumerated() where lower.commit != last.commit {
            let older = Self.up(lower.parts, to: reader.newest)
            let isApart = lower.removal != 0 && lower.removal != last.removal
            if reader.merges, !isApart {
                seen.parts = Self.merge(older, seen.parts)
            } else {
                (seen.parts, seen.displaced) = (older, Array(newer[...index]))
            }
            seen.isUnmerged = true
            last = lower
        }
        return seen
    }

    /// What a program reads that can read what is there.
    func value(for reader: Reader) -> String? { content.own.map { Self.text(seen($0, by: reader).parts) } }

    // MARK: Writing

    /// The version that the slot gets: what the oldest program reads, and never an earlier one than it has.
    private func floor(_ reader: Reader) -> Int { reader.keepsOlder ? content.own?.version ?? 1 : reader.newest }

    /// Whether the older shape does not tell all of a value, and nothing is kept beside it.
    func refuses(_ parts: [String], _ reader: Reader) -> Bool {
        !keepsBeside && Self.up(Array(parts.prefix(floor(reader))), to: reader.newest) != parts
    }

    /// What is there after a program wrote or removed the value; nothing where it would have been refused.
    func written(_ parts: [String]?, by reader: Reader) -> [Content] {
        var next = content
        // A program knows the slots of the shapes that its chain has.
        let known = content.newer.keys.filter { $0 <= reader.newest }
        for version in known { next.newer[version] = nil }
        guard let parts else {
            (next.own, next.isMarked) = (nil, false)
            guard let own = content.own else { return [next] }
            var told = next
            told.grave = freshRemoval
            // Where the slot may not have said what it held, nothing may tell of the removal.
            return content.isMarked || own.removal != 0 ? [told] : [next, told]
        }
        guard isReadable(by: reader), !refuses(parts, reader) else { return [] }
        let floor = floor(reader)
        let removal = content.own?.removal ?? content.grave ?? 0
        func shape(_ version: Int) -> Shape { Shape(parts: Array(parts.prefix(version)), commit: fresh, removal: removal) }
        (next.own, next.grave) = (shape(floor), nil)
        next.isMarked = removal != 0 || reader.newest == 1 && content.isMarked
        if floor < reader.newest, keepsBeside {
            next.isMarked = true
            for version in (floor + 1)...reader.newest { next.newer[version] = shape(version) }
        }
        guard reader.isBlind, !known.isEmpty else { return [next] }
        // It did not look beside the slot: a sweep deletes what is left there.
        var left = content
        (left.own, left.isMarked, left.grave) = (next.own, next.isMarked, next.grave)
        return [next, left]
    }

    // MARK: Sweeps

    /// What a sweep leaves, or the end of the window.
    func settled(by reader: Reader, ends: Bool, isRead: Bool) -> InPlaceModel {
        var next = self
        let known = content.newer.filter { $0.key <= reader.newest }
        guard let own = content.own else {
            if isRead { return self }
            // An earlier release removed the value.
            for (version, shape) in known {
                next.content.newer[version] = nil
                next.owed.formUnion(Self.numbers(in: shape.parts))
            }
            return changed(to: next)
        }
        guard own.version <= reader.newest else { return self }
        if own.version == reader.newest {
            if isRead { return self }
            for version in known.keys { next.content.newer[version] = nil }
            return changed(to: next)
        }
        let seen = seen(own, by: reader)
        let keeps = reader.keepsOlder && !ends
        if keeps, !seen.isUnmerged { return self }
        for shape in seen.displaced { next.owed.formUnion(Self.numbers(in: shape.parts)) }
        var writer = reader
        (writer.keepsOlder, writer.isBlind) = (keeps, false)
        next.content = written(seen.parts, by: writer).first ?? content
        return changed(to: next)
    }

    private func changed(to next: InPlaceModel) -> InPlaceModel {
        if next.content == content { return next }
        var model = changed(to: next.content, isAcknowledged: false)
        model.owed = next.owed
        return model
    }
}
