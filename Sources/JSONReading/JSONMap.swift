import BackendContract

/// A JSON document as a list of nodes, which one pass over the bytes makes.
///
/// Only documents without escapes, exponents and other rare forms have a map.
struct JSONMap: Sendable {
    enum Kind: Sendable { case null, yes, no, integer, fraction, text, array, object }

    /// A value or the name of a property. The nodes of a container follow its own: the elements of an array, or each name
    /// of an object and its value.
    struct Node: Sendable {
        let kind: Kind
        /// The first byte, without a quote.
        let start: Int32
        /// The byte after the last one, without a quote.
        var end: Int32
        /// The position of the node after this one and its content.
        var next: Int32

        var range: Range<Int> { Int(start)..<Int(end) }
    }

    let bytes: [UInt8]
    let nodes: [Node]

    /// Returns nil for a document that has no map.
    init?(_ bytes: [UInt8]) {
        let nodes: [Node]? = bytes.withUnsafeBufferPointer { bytes in
            var scan = Scan(bytes: bytes)
            return scan.document() ? scan.nodes : nil
        }
        guard let nodes else { return nil }
        (self.bytes, self.nodes) = (bytes, nodes)
    }

    // MARK: Values

    /// Returns a text; nil if its bytes are not UTF-8.
    func text(_ node: Int) -> String? { bytes[nodes[node].range].withUnsafeBytes { String(utf8: $0) } }

    /// Returns the digits of a number as an integer, and the number of digits after the point; nil for more than 15 digits.
    private func digits(_ node: Node) -> (value: Int64, afterPoint: Int)? {
        guard node.end - node.start <= 16 else { return nil }
        var (value, point): (Int64, Int?) = (0, nil)
        for place in node.range {
            switch bytes[place] {
            case UInt8(ascii: "-"): continue
            case UInt8(ascii: "."): point = place
            case let digit: value = value * 10 + Int64(digit & 0x0F)
            }
        }
        return (value, point.map { Int(node.end) - 1 - $0 } ?? 0)
    }

    private func isNegative(_ node: Node) -> Bool { bytes[Int(node.start)] == UInt8(ascii: "-") }

    /// Returns an integer; nil if it has more than 15 digits.
    func integer(_ node: Int) -> Int64? {
        guard let value = digits(nodes[node])?.value else { return nil }
        return isNegative(nodes[node]) ? -value : value
    }

    /// Returns a number; nil if it has more than 15 digits. The digits and the power of ten are exact, so their quotient is
    /// the nearest number.
    func number(_ node: Int) -> Double? {
        guard let (value, afterPoint) = digits(nodes[node]) else { return nil }
        let number = Double(value) / Self.powersOfTen[afterPoint]
        return isNegative(nodes[node]) ? -number : number
    }

    private static let powersOfTen: [Double] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15]

    /// Returns the nodes of the elements of an array, or of the names and values of an object.
    func elements(of container: Int) -> [Int] {
        var (found, node): ([Int], Int) = ([], container + 1)
        while node < nodes[container].next {
            found.append(node)
            node = Int(nodes[node].next)
        }
        return found
    }

    func names(in object: Int) -> [String] {
        elements(of: object).enumerated().compactMap { index, node in index.isMultiple(of: 2) ? text(node) : nil }
    }

    /// Returns the node of an object's value; nil if there is none with this name.
    func value(_ name: String, in object: Int) -> Int? {
        var name = name
        return name.withUTF8 { name in
            bytes.withUnsafeBufferPointer { bytes in
                var node = object + 1
                while node < nodes[object].next {
                    if UnsafeBufferPointer(rebasing: bytes[nodes[node].range]).hasBytes(name) { return node + 1 }
                    node = Int(nodes[node + 1].next)
                }
                return nil
            }
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    fileprivate func hasBytes(_ other: Self) -> Bool { count == other.count && (0..<count).allSatisfy { self[$0] == other[$0] } }
}

/// The pass over the bytes of a document. A function returns false if the document has no map.
private struct Scan {
    let bytes: UnsafeBufferPointer<UInt8>
    var nodes: [JSONMap.Node] = []
    private var place = 0

    /// Objects with more names, and documents with more levels, have no map.
    private static let (mostNames, mostLevels) = (64, 64)

    init(bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
        nodes.reserveCapacity(24)
    }

    /// The byte at the place; 0 at the end.
    private var byte: UInt8 { place < bytes.count ? bytes[place] : 0 }

    mutating func document() -> Bool {
        guard bytes.count < Int32.max, value(0) else { return false }
        skipSpace()
        return place == bytes.count
    }

    private mutating func skipSpace() {
        while byte == 0x20 || (0x09...0x0D).contains(byte) && byte != 0x0B && byte != 0x0C { place += 1 }
    }

    private mutating func skip(_ wanted: UInt8) -> Bool {
        if byte != wanted { return false }
        place += 1
        return true
    }

    private mutating func add(_ kind: JSONMap.Kind, _ start: Int, _ end: Int) {
        nodes.append(JSONMap.Node(kind: kind, start: Int32(start), end: Int32(end), next: Int32(nodes.count + 1)))
    }

    private mutating func value(_ level: Int) -> Bool {
        skipSpace()
        return switch byte {
        case UInt8(ascii: "\""): text()
        case UInt8(ascii: "{"): container(.object, level, endsWith: UInt8(ascii: "}"))
        case UInt8(ascii: "["): container(.array, level, endsWith: UInt8(ascii: "]"))
        case UInt8(ascii: "t"): word(.yes, "true")
        case UInt8(ascii: "f"): word(.no, "false")
        case UInt8(ascii: "n"): word(.null, "null")
        default: number()
        }
    }

    private mutating func word(_ kind: JSONMap.Kind, _ word: StaticString) -> Bool {
        add(kind, place, place)
        for offset in 0..<word.utf8CodeUnitCount where !skip(word.utf8Start[offset]) { return false }
        return true
    }

    private mutating func text() -> Bool {
        place += 1
        let start = place
        while byte != UInt8(ascii: "\"") {
            if byte < 0x20 || byte == UInt8(ascii: "\\") { return false }
            place += 1
        }
        add(.text, start, place)
        place += 1
        return true
    }

    private mutating func number() -> Bool {
        let start = place
        _ = skip(UInt8(ascii: "-"))
        let isZero = byte == UInt8(ascii: "0")
        let count = skipDigits()
        guard count > 0, count == 1 || !isZero else { return false }
        let isFraction = skip(UInt8(ascii: "."))
        if isFraction, skipDigits() == 0 { return false }
        // A document with an exponent has no map, because no value may follow here.
        add(isFraction ? .fraction : .integer, start, place)
        return true
    }

    private mutating func skipDigits() -> Int {
        let start = place
        while (0x30...0x39).contains(byte) { place += 1 }
        return place - start
    }

    private mutating func container(_ kind: JSONMap.Kind, _ level: Int, endsWith last: UInt8) -> Bool {
        let container = nodes.count
        add(kind, place, place)
        place += 1
        skipSpace()
        var count = 0
        while byte != last {
            if count > 0 {
                guard skip(UInt8(ascii: ",")) else { return false }
                skipSpace()
            }
            count += 1
            if kind == .object {
                guard count <= Self.mostNames, byte == UInt8(ascii: "\""), text(), isNewName(in: container) else { return false }
                skipSpace()
                guard skip(UInt8(ascii: ":")) else { return false }
            }
            guard level < Self.mostLevels, value(level + 1) else { return false }
            skipSpace()
        }
        place += 1
        (nodes[container].end, nodes[container].next) = (Int32(place), Int32(nodes.count))
        return true
    }

    /// Returns whether the last node is a name of ASCII characters that differs from the other names of its object.
    /// Foundation compares names as texts. ASCII texts are equal if their bytes are.
    private func isNewName(in object: Int) -> Bool {
        let last = nodes.count - 1
        let name = UnsafeBufferPointer(rebasing: bytes[nodes[last].range])
        guard name.allSatisfy({ $0 < 0x80 }) else { return false }
        var node = object + 1
        while node < last {
            if name.hasBytes(UnsafeBufferPointer(rebasing: bytes[nodes[node].range])) { return false }
            node = Int(nodes[node + 1].next)
        }
        return true
    }
}
