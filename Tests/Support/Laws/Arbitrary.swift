/// Generates random values of a type from a seed. Each value has smaller values, which are used for shrinking.
///
/// ```swift
/// let addresses = zip(Arbitrary<String>.text(), .bytes()).map { Address(name: $0, content: $1) }
/// ```
package struct Arbitrary<Value: Sendable>: Sendable {
    /// The size of a value, which limits the lengths of its lists and texts.
    package typealias Size = Int

    private let draw: @Sendable (inout SeededGenerator, Size) -> Shrinkable<Value>

    /// Creates a generator from a function of random numbers and a size.
    package init(_ draw: @escaping @Sendable (inout SeededGenerator, Size) -> Shrinkable<Value>) { self.draw = draw }

    /// The largest size.
    package static var largest: Size { 40 }

    /// Generates a value together with its smaller values.
    package func tree(_ generator: inout SeededGenerator, _ size: Size) -> Shrinkable<Value> { draw(&generator, size) }

    /// Generates the value of a seed. The seed also determines the size, so it reproduces the value.
    package func tree(seed: UInt64) -> Shrinkable<Value> {
        var generator = SeededGenerator(seed)
        let size = Int.random(in: 0...Self.largest, using: &generator)
        return draw(&generator, size)
    }

    /// Always generates the same value.
    package static func always(_ value: Value) -> Arbitrary { Arbitrary { _, _ in Shrinkable(value) } }

    /// One of the given values. The first is the smallest.
    package static func one(of values: [Value]) -> Arbitrary {
        Arbitrary { generator, _ in choice(values, Int.random(in: values.indices, using: &generator)) }
    }

    private static func choice(_ values: [Value], _ index: Int) -> Shrinkable<Value> {
        Shrinkable(values[index]) { (0..<index).map { choice(values, $0) } }
    }

    /// A value of one of several generators, which are equally likely. The first generator is the smallest.
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

    /// Transforms the values. The results shrink as the values do.
    package func map<Other: Sendable>(_ transform: @escaping @Sendable (Value) -> Other) -> Arbitrary<Other> {
        Arbitrary<Other> { generator, size in draw(&generator, size).map(transform) }
    }

    /// Values that depend on a first value. The first value is shrunk first.
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

    /// Nil or a value.
    package var optional: Arbitrary<Value?> { .any(of: [.always(nil), map(Optional.some)]) }

    /// Lists of values. Their length is within a range and not above the size, but at least the lower bound.
    package func list(_ lengths: ClosedRange<Int> = 0...Int.max) -> Arbitrary<[Value]> {
        Arbitrary<[Value]> { generator, size in
            let most = max(lengths.lowerBound, min(lengths.upperBound, size))
            let count = Int.random(in: lengths.lowerBound...most, using: &generator)
            return .list((0..<count).map { _ in draw(&generator, size) }, atLeast: lengths.lowerBound)
        }
    }

    /// Values that are no larger than a size.
    package func limited(to limit: Size) -> Arbitrary { Arbitrary { generator, size in draw(&generator, min(size, limit)) } }
}

/// Pairs of values.
package func zip<A, B>(_ a: Arbitrary<A>, _ b: Arbitrary<B>) -> Arbitrary<(A, B)> {
    Arbitrary<(A, B)> { generator, size in
        let left = a.tree(&generator, size)
        return .pair(left, b.tree(&generator, size))
    }
}

/// Triples of values.
package func zip<A, B, C>(_ a: Arbitrary<A>, _ b: Arbitrary<B>, _ c: Arbitrary<C>) -> Arbitrary<(A, B, C)> {
    zip(zip(a, b), c).map { ($0.0, $0.1, $1) }
}

/// Quadruples of values.
package func zip<A, B, C, D>(_ a: Arbitrary<A>, _ b: Arbitrary<B>, _ c: Arbitrary<C>, _ d: Arbitrary<D>) -> Arbitrary<(A, B, C, D)> {
    zip(zip(a, b), zip(c, d)).map { ($0.0, $0.1, $1.0, $1.1) }
}
