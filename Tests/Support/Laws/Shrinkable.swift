/// A value, and lazily the smaller values that may stand in its place when somebody looks for the smallest that fails: a tree in which every step down is
/// smaller, so that every way down ends.
package struct Shrinkable<Value: Sendable>: Sendable {
    package let value: Value
    private let below: @Sendable () -> [Shrinkable<Value>]

    /// A value and what is smaller than it, the smallest first.
    package init(_ value: Value, _ below: @escaping @Sendable () -> [Shrinkable<Value>] = { [] }) {
        self.value = value
        self.below = below
    }

    /// The next smaller values; made when they are asked for.
    package var smaller: [Shrinkable<Value>] { below() }

    /// The same tree of other values.
    package func map<Other: Sendable>(_ transform: @escaping @Sendable (Value) -> Other) -> Shrinkable<Other> {
        Shrinkable<Other>(transform(value)) { below().map { $0.map(transform) } }
    }

    /// The same tree, with some of the smaller values first tried before its own.
    func trying(_ first: @escaping @Sendable () -> [Shrinkable<Value>]) -> Shrinkable<Value> {
        Shrinkable(value) { first() + below() }
    }

    /// Two values: the left one is made smaller first.
    static func pair<Left, Right>(_ left: Shrinkable<Left>, _ right: Shrinkable<Right>) -> Shrinkable<(Left, Right)>
    where Value == (Left, Right) {
        Shrinkable<(Left, Right)>((left.value, right.value)) {
            left.smaller.map { pair($0, right) } + right.smaller.map { pair(left, $0) }
        }
    }

    /// A list: shorter ones first, then ones with a smaller element.
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
