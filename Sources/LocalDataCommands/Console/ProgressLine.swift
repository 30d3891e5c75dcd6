/// One line of text about the progress of a long command: what was done, how fast, and how long the rest takes.
package struct ProgressLine: Sendable {
    /// The unit of the numbers.
    package enum Unit: Sendable {
        case bytes
        /// A number of things, by their name in the plural: `rows`.
        case things(String)
    }

    /// The object that is being processed.
    let subject: String
    /// The amount that is done.
    let done: Int
    /// The whole amount; nil if it cannot be determined.
    let total: Int?
    /// The unit of both amounts.
    let unit: Unit
    /// The time since the command began to process this amount.
    let elapsed: Duration

    /// Creates a line.
    package init(_ subject: String, done: Int, total: Int? = nil, unit: Unit, elapsed: Duration) {
        (self.subject, self.done, self.total, self.unit, self.elapsed) = (subject, done, total, unit, elapsed)
    }

    /// The line, without a line break. Rate and remaining time are left out in the first second, when they would be guesses.
    package var text: String {
        // An estimated total can be too small.
        let total = total.flatMap { $0 >= done && $0 > 0 ? $0 : nil }
        var parts = ["\(amount(done))" + (total.map { " of \(amount($0))" } ?? "")]
        if let total { parts.append("\(Int(Double(done) / Double(total) * 100)) %") }
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        if seconds >= 1, done > 0 {
            let rate = Double(done) / seconds
            parts.append("\(amount(Int(rate)))/s")
            if let total { parts.append("\(Self.time(Double(total - done) / rate)) left") }
        }
        return "\(subject): \(parts.joined(separator: ", "))"
    }

    private func amount(_ number: Int) -> String {
        switch unit {
        case .bytes: Self.bytes(number)
        case .things(let name): "\(number) \(name)"
        }
    }

    /// Returns a number of bytes with a decimal unit, such as `12.3 MB`.
    private static func bytes(_ number: Int) -> String {
        var (size, unit) = (Double(number), 0)
        let units = ["bytes", "kB", "MB", "GB", "TB"]
        while size >= 1_000, unit < units.count - 1 { (size, unit) = (size / 1_000, unit + 1) }
        return unit == 0 ? "\(number) bytes" : "\(Double(Int(size * 10)) / 10) \(units[unit])"
    }

    /// Returns a time in its two largest units, such as `3 min 20 s`.
    private static func time(_ seconds: Double) -> String {
        let seconds = Int(min(seconds.rounded(.up), 1e9))
        return switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3_600: "\(seconds / 60) min \(seconds % 60) s"
        default: "\(seconds / 3_600) h \(seconds % 3_600 / 60) min"
        }
    }
}
