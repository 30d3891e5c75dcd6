/// Makes values of a kind from a seed, each with the smaller ones that may stand in its place.
///
/// ```swift
/// let addresses = zip(Arbitrary<String>.text(), .bytes()).map { Address(name: $0, content: $1) }
/// ```
package struct Arbitrary<Value: Sendable>: Sendable {
    /// How much a value may grow: lengths follow it.
    package typealias Size = Int

    private let draw: @Sendable (inout SeededGenerator, Size) -> Shrinkable<Value>

    /// Makes values by a function of the generator alone.
    package init(_ draw: @escaping @Sendable (inout SeededGenerator, Size) -> Shrinkable<Value>) { self.draw = draw }

    /// The largest size.
    package static var largest: Size { 40 }

    /// A value with its tree.
    package func tree(_ generator: inout SeededGenerator, _ size: Size) -> Shrinkable<Value> { draw(&generator, size) }

    /// The value that follows from a seed, its size included: one number says everything.
    package func tree(seed: UInt64) -> Shrinkable<Value> {
        var generator = SeededGenerator(seed)
        let size = Int.random(in: 0...Self.largest, using: &generator)
        return draw(&generator, size)
    }

    /// Always the same.
    package static func always(_ value: Value) -> Arbitrary { Arbitrary { _, _ in Shrinkable(value) } }

    /// One of some values; the first is the smallest.
    package static func one(of values: [Value]) -> Arbitrary {
        Arbitrary { generator, _ in choice(values, Int.random(in: values.indices, using: &generator)) }
    }

    private static func choice(_ values: [Value], _ index: Int) -> Shrinkable<Value> {
        Shrinkable(values[index]) { (0..<index).map { choice(values, $0) } }
    }

    /// A value of one of several kinds, which are equally likely; the first kind is the smallest.
    package static func any(of kinds: [Arbitrary]) -> Arbitrary {
        Arbitrary { generator, size in
            let index = Int.random(in: kinds.indices, using: &generator)
            return choice(kinds, index, seed: generator.next(), size)
        }
    }

    private static func choice(_ kinds: [Arbitrary], _ index: Int, seed: UInt64, _ size: Size) -> Shrinkable<Value> {
        var generator = SeededGenerator(seed)
        return kinds[index].draw(&generator, size).trying { (0..<index).map { choice(kinds, $0, seed: seed, size) } }
    }

    /// Other values that follow from these, and shrink as these do.
    package func map<Other: Sendable>(_ transform: @escaping @Sendable (Value) -> Other) -> Arbitrary<Other> {
        Arbitrary<Other> { generator, size in draw(&generator, size).map(transform) }
    }

    /// Values of a kind that follows from these: what it follows from is made smaller first.
    package func flatMap<Other: Sendable>(_ next: @escaping @Sendable (Value) -> Arbitrary<Other>) -> Arbitrary<Other> {
        Arbitrary<Other> { generator, size in
            let outer = draw(&generator, size)
            return Self.flatten(outer, seed: generator.next(), size, next)
        }
    }

    private static func flatten<Other>(
        _ outer: Shrinkable<Value>, seed: UInt64, _ size: Size, _ next: @escaping @Sendable (Value) -> Arbitrary<Other>
    ) -> Shrinkable<Other> {
        var generator = SeededGenerator(seed)
        return next(outer.value).draw(&generator, size).trying { outer.smaller.map { flatten($0, seed: seed, size, next) } }
    }

    /// Nothing, or such a value.
    package var optional: Arbitrary<Value?> { .any(of: [.always(nil), map(Optional.some)]) }

    /// Lists of such values, within some lengths and no longer than the size allows.
    package func list(_ lengths: ClosedRange<Int> = 0...Int.max) -> Arbitrary<[Value]> {
        Arbitrary<[Value]> { generator, size in
            let most = max(lengths.lowerBound, min(lengths.upperBound, size))
            let count = Int.random(in: lengths.lowerBound...most, using: &generator)
            return .list((0..<count).map { _ in draw(&generator, size) }, atLeast: lengths.lowerBound)
        }
    }

    /// Such values, no larger than a size.
    package func limited(to limit: Size) -> Arbitrary { Arbitrary { generator, size in draw(&generator, min(size, limit)) } }
}

/// Pairs.
package func zip<A, B>(_ a: Arbitrary<A>, _ b: Arbitrary<B>) -> Arbitrary<(A, B)> {
    Arbitrary<(A, B)> { generator, size in
        let left = a.tree(&generator, size)
        return .pair(left, b.tree(&generator, size))
    }
}

/// Triples.
package func zip<A, B, C>(_ a: Arbitrary<A>, _ b: Arbitrary<B>, _ c: Arbitrary<C>) -> Arbitrary<(A, B, C)> {
    zip(zip(a, b), c).map { ($0.0, $0.1, $1) }
}

/// Quadruples.
package func zip<A, B, C, D>(_ a: Arbitrary<A>, _ b: Arbitrary<B>, _ c: Arbitrary<C>, _ d: Arbitrary<D>) -> Arbitrary<(A, B, C, D)> {
    zip(zip(a, b), zip(c, d)).map { ($0.0, $0.1, $1.0, $1.1) }
}
