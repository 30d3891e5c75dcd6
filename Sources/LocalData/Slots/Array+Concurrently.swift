extension Array where Element: Sendable {
    /// Does work for each element, for a limited number of them at once.
    /// - Returns: The results, in the order of the elements.
    func concurrently<R: Sendable>(atMost limit: Int, _ work: @escaping @Sendable (Element) async -> R) async -> [R] {
        await withTaskGroup(of: (Int, R).self) { group in
            var results = [R?](repeating: nil, count: count)
            var next = enumerated().makeIterator()
            func begin() {
                guard let (index, element) = next.next() else { return }
                group.addTask { (index, await work(element)) }
            }
            for _ in 0..<Swift.max(1, limit) { begin() }
            for await (index, result) in group {
                results[index] = result
                begin()
            }
            return results.compactMap(\.self)
        }
    }
}

extension Array {
    /// Returns the elements in parts of at most a size, in order.
    func parts(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min(count, $0 + size)] }
    }
}
