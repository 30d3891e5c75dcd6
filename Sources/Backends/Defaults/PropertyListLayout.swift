/// The positions of the entries in an encoded property list. With it, a list without some of its values is made by copying bytes, not by
/// encoding every entry again.
struct PropertyListLayout: Sendable {
    /// The position of each value's entry, in the order of the slots, and the end of the last one.
    private var values: [Int]
    /// The position of each value's metadata, and the end of the last one; empty if the list has no reserved dictionary.
    private var metadata: [Int]
    /// The removed parts of the bytes, in ascending order.
    private var cuts: [Range<Int>] = []
    /// The size of the bytes from which the parts are removed.
    private let size: Int

    /// Creates the layout of a list that was just encoded.
    init(values: [Int], metadata: [Int], size: Int) { (self.values, self.metadata, self.size) = (values, metadata, size) }

    /// Returns the layout without some entries; nil if the list must be encoded again.
    /// - Parameters:
    ///   - indices: The indices of the slots, in ascending order.
    ///   - keepsReserved: Whether the list needs a reserved dictionary even if no value has metadata.
    func removing(_ indices: [Int], keepsReserved: Bool) -> PropertyListLayout? {
        guard cuts.isEmpty, let last = indices.last, last < values.count - 1, indices.count < values.count - 1 else { return nil }
        var layout = self
        layout.values = Self.shortened(values, without: indices, &layout.cuts)
        layout.metadata = Self.shortened(metadata, without: indices, &layout.cuts)
        return metadata.isEmpty || layout.metadata.first != layout.metadata.last || keepsReserved ? layout : nil
    }

    /// Returns the positions without those of some entries, and notes the parts that these entries had.
    private static func shortened(_ starts: [Int], without indices: [Int], _ cuts: inout [Range<Int>]) -> [Int] {
        if starts.isEmpty { return [] }
        var removed = cuts.reduce(0) { $0 + $1.count }
        var (kept, next) = ([Int](), 0)
        kept.reserveCapacity(starts.count - indices.count)
        for index in indices {
            for start in starts[next..<index] { kept.append(start - removed) }
            cuts.append(starts[index]..<starts[index + 1])
            removed += starts[index + 1] - starts[index]
            next = index + 1
        }
        for start in starts[next...] { kept.append(start - removed) }
        return kept
    }

    /// Returns the bytes of the list, and its layout; nil if these are not the bytes that were encoded.
    func encoded(from bytes: [UInt8]) -> (bytes: [UInt8], layout: PropertyListLayout)? {
        guard !cuts.isEmpty, bytes.count == size else { return nil }
        var (kept, next) = ([UInt8](), 0)
        kept.reserveCapacity(size)
        for cut in cuts {
            kept += bytes[next..<cut.lowerBound]
            next = cut.upperBound
        }
        kept += bytes[next...]
        return (kept, PropertyListLayout(values: values, metadata: metadata, size: kept.count))
    }
}
