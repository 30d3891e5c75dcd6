package import Synchronization

/// A value that a test shares with the work that it starts.
package final class Shared<Value: Sendable>: Sendable {
    package let value: Mutex<Value>

    package init(_ value: Value) { self.value = Mutex(value) }
}

extension Shared<Int> {
    /// The current number.
    package var number: Int { value.withLock(\.self) }

    /// Adds a number to this number.
    /// - Returns: The new number.
    @discardableResult
    package func count(by step: Int = 1) -> Int {
        value.withLock { number in
            number += step
            return number
        }
    }
}

extension Shared<[String]> {
    /// The texts that were noted, in order.
    package var all: [String] { value.withLock(\.self) }

    /// Appends a text.
    package func note(_ text: String) { value.withLock { $0.append(text) } }
}
