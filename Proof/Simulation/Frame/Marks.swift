import Foundation

/// The texts that a run stores as values. Each text contains a number, so that it can be found in any bytes.
enum Marks {
    /// The prefix of every text. Nothing else contains it.
    static let value = "val-"
    private static let mark = Data("\(value)#".utf8)

    static func text(of number: Int) -> String { "\(value)#\(number)" }
    static func number(in text: String) -> Int { Int(text.drop { $0 != "#" }.dropFirst()) ?? 0 }

    /// The numbers of the texts that the bytes contain.
    static func numbers(in bytes: [UInt8]) -> [Int] {
        let data = Data(bytes)
        var found: [Int] = []
        var offset = 0
        while let hit = data.range(of: mark, in: offset..<data.count) {
            offset = hit.upperBound
            var number = 0
            while offset < data.count, (48...57).contains(data[offset]) {
                number = number * 10 + Int(data[offset] - 48)
                offset += 1
            }
            found.append(number)
        }
        return found
    }
}
