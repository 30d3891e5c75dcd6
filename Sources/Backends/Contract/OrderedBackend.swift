/// A store that keeps values in an order that does not follow from their names.
///
/// A change of values that are neighbours on the disk touches fewer pages than a change of as many other values.
package protocol OrderedBackend: StorageBackend {
    /// Returns the positions of values on the disk, whether they exist or not.
    /// - Returns: Numbers in the order of the addresses; nil if the positions are not known, for example before the store exists.
    func positions(of addresses: [StorageAddress]) -> [Int64]?
}
