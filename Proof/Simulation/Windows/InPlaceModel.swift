import TestSupport

/// What programs of several versions can see of one value that is kept in several shapes, from the specification (`Docs/Design.md`, "Several shapes in a release window").
///
/// A shape is told by its parts: version 1 knows the first one, and each later version one more.
package struct InPlaceModel: SequentialModel {
    /// What a program knows of the value.
    package struct Reader: Hashable, Sendable {
        /// The version that it writes and reads.
        var newest: Int
        /// Whether it keeps the shapes of all earlier versions.
        var keepsOlder = false
        var merges = false
        /// Whether it writes without a look at what is there.
        var isBlind = false

        package init(newest: Int, keepsOlder: Bool = false, merges: Bool = false, isBlind: Bool = false) {
            (self.newest, self.keepsOlder, self.merges, self.isBlind) = (newest, keepsOlder, merges, isBlind)
        }
    }

    /// A value in one shape, and which of the commits that can still be told apart wrote it.
    struct Shape: Hashable, Sendable {
        var parts: [String]
        var commit: Int
        /// The last removal that its writer knew of, or 0. What is beside it from before that removal is no part of its value.
        var removal = 0
        var version: Int { parts.count }
    }

    /// What the key's own slot holds, and the slots of newer shapes beside it, by their version.
    struct Content: Hashable, Sendable {
        var own: Shape?
        var newer: [Int: Shape] = [:]
        /// Whether the own slot is certain to say that it has held several shapes: only then is a removal of its value known later.
        var isMarked = false
        /// The removal that the key's own slot names; nil for none.
        var grave: Int?
    }

    /// Whether newer shapes are kept beside an older one: their programs have a merge, and the store commits several changes at once.
    let keepsBeside: Bool
    var content: Content
    /// What a power cut may bring back.
    var undo: Set<Content> = []
    /// The numbers of texts that no call has replaced or removed: in the end they stand in a slot, or in quarantine.
    var owed: Set<Int> = []
    /// How many power cuts are to come: without one, nothing is brought back.
    package var cutsLeft = 0

    /// - Parameter value: What the slot holds: as many parts as the version that wrote it knows.
    package init(keepsBeside: Bool, value: String? = nil) {
        self.keepsBeside = keepsBeside
        content = Content(own: value.map { Shape(parts: Self.parts(of: $0), commit: 0) })
    }

    package enum Action: Sendable {
        case read(String?, Reader)
        case exists(Bool)
        case write(String?, Reader, isAcknowledged: Bool)
        case swap(String?, String?, Reader)
        /// Refused, since the slot has a later version than the program knows.
        case refusedVersion(Reader)
        /// Refused, since the older shape does not tell all of a value, and nothing is kept beside it.
        case refusedShape(String, Reader)
        /// A sweep, or the end of the window.
        /// - `isRead`: a read, which only changes what a program no longer keeps.
        case settle(Reader, ends: Bool, isRead: Bool)
        /// A program that knows nothing of LocalData writes the slot.
        case foreign(String?)
        case powerCut
        /// What is found in the end, in the slots and in quarantine.
        case end(Set<Int>)
    }

    package func after(_ action: Action) -> [InPlaceModel] { directly(after: action).map(\.canonical) }

    private func directly(after action: Action) -> [InPlaceModel] {
        switch action {
        case .read(let seen, let reader):
            guard isReadable(by: reader), seen == value(for: reader) else { return [] }
            // What a program does not keep in an older shape it writes in its own.
            return reader.keepsOlder || reader.newest == 1 ? [self] : [self, settled(by: reader, ends: false, isRead: true)]
        case .exists(let seen): return seen == (content.own != nil) ? [self] : []
        case .write(let value, let reader, let isAcknowledged):
            return written(value.map(Self.parts), by: reader).map { changed(to: $0, isAcknowledged: isAcknowledged) }
        case .swap(let seen, let left, let reader):
            return directly(after: .read(seen, reader)).flatMap {
                $0.directly(after: .write(left, reader, isAcknowledged: true))
            }
        case .refusedVersion(let reader): return isReadable(by: reader) ? [] : [self]
        case .refusedShape(let value, let reader): return isReadable(by: reader) && refuses(Self.parts(of: value), reader) ? [self] : []
        case .settle(let reader, let ends, let isRead): return [settled(by: reader, ends: ends, isRead: isRead)]
        case .foreign(let text):
            var next = content
            next.own = text.map { Shape(parts: [$0], commit: fresh) }
            (next.isMarked, next.grave) = (false, nil)
            return [changed(to: next, isAcknowledged: true)]
        case .powerCut:
            var kept = self
            kept.undo = []
            kept.cutsLeft -= 1
            return [kept]
                + undo.map { past in
                    var next = kept
                    next.content = past
                    return next
                }
        case .end(let found): return owed.isSubset(of: found) ? [self] : []
        }
    }

    /// Whether a program reads and replaces what the slot holds.
    func isReadable(by reader: Reader) -> Bool { (content.own?.version ?? 0) <= reader.newest }

    func changed(to next: Content, isAcknowledged: Bool) -> InPlaceModel {
        var model = self
        if isAcknowledged { model.undo = [] } else if cutsLeft > 0 { model.undo.insert(content) }
        model.content = next
        return model
    }

    // MARK: Texts

    /// The text of a part that the writer did not know.
    static let nothing = "-"

    static func parts(of value: String) -> [String] { value.split(separator: "/").map(String.init) }
    static func text(_ parts: [String]) -> String { parts.joined(separator: "/") }
    static func numbers(in parts: [String]) -> [Int] { parts.flatMap { Marks.numbers(in: Array($0.utf8)) } }
}
