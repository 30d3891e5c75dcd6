import Foundation

/// The durations of calls, in buckets whose limits differ by 5 %. The size does not depend on the number of calls.
struct Latencies: Sendable {
    private static let width = log(1.05)

    private var buckets = [Int](repeating: 0, count: 400)
    private(set) var count = 0

    mutating func add(_ duration: Duration) {
        let bucket = Int(log(max(1, duration / .microseconds(1))) / Self.width)
        buckets[min(bucket, buckets.count - 1)] += 1
        count += 1
    }

    mutating func add(_ other: Latencies) {
        for index in buckets.indices { buckets[index] += other.buckets[index] }
        count += other.count
    }

    /// Returns the duration in microseconds that a part of the calls does not exceed; 0 if there was no call.
    /// - Parameter part: The part, such as 0.99.
    func percentile(_ part: Double) -> Int {
        var rest = (Double(count) * part).rounded(.up)
        if count == 0 { return 0 }
        for (index, calls) in buckets.enumerated() {
            rest -= Double(calls)
            if rest <= 0 { return Int(exp(Double(index + 1) * Self.width)) }
        }
        return 0
    }
}
