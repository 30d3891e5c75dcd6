/// A value with its smaller values, for finding the smallest value that breaks a property.
///
/// The smaller values form a tree, which is computed lazily. Every step down is smaller, so every path ends.
package struct Shrinkable<Value: Sendable>: Sendable {
    package let value: Value
    private let below: @Sendable () -> [Shrinkable<Value>]

    /// Creates a value with its smaller values, the smallest first.
    package init(_ value: Value, _ below: @escaping @Sendable () -> [Shrinkable<Value>] = { [] }) {
        self.value = value
        self.below = below
    }

    /// The next smaller values. They are computed on access.
    package var smaller: [Shrinkable<Value>] { below() }

    /// Returns the same tree with transformed values.
    package func map<Other: Sendable>(_ transform: @escaping @Sendable (Value) -> Other) -> Shrinkable<Other> {
        Shrinkable<Other>(transform(value)) { below().map { $0.map(transform) } }
    }

    /// Returns the same tree with additional smaller values, which are tried first.
    func trying(_ first: @escaping @Sendable () -> [Shrinkable<Value>]) -> Shrinkable<Value> {
        Shrinkable(value) { first() + below() }
    }

    /// A pair. The left value is shrunk first.
    static func pair<Left, Right>(_ left: Shrinkable<Left>, _ right: Shrinkable<Right>) -> Shrinkable<(Left, Right)>
    where Value == (Left, Right) {
        Shrinkable<(Left, Right)>((left.value, right.value)) {
            left.smaller.map { pair($0, right) } + right.smaller.map { pair(left, $0) }
        }
    }

    /// A list. It shrinks to shorter lists first, then to lists with a smaller element.
    static func list<Element>(_ elements: [Shrinkable<Element>], atLeast least: Int) -> Shrinkable<[Element]> where Value == [Element] {
        Shrinkable<[Element]>(elements.map(\.value)) {
            var smaller: [Shrinkable<[Element]>] = []
            var size = elements.count - least
            while size > 0 {
                for start in stride(from: 0, through: elements.count - size, by: size) {
                    smaller.append(list(Array(elements[..<start] + elements[(start + size)...]), atLeast: least))
                }
                size /= 2
            }
            for (index, element) in elements.enumerated() {
                for replacement in element.smaller {
                    var changed = elements
                    changed[index] = replacement
                    smaller.append(list(changed, atLeast: least))
                }
            }
            return smaller
        }
    }
}
