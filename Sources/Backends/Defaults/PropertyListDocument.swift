import BackendContract

/// The slots of one property list, and their layout in the list. A slot is the location of one value, identified by
/// namespace and name.
///
/// ```
/// name             a native value, which every program can read
/// …
/// LocalData.metadata
///   format         1
///   entries        name → the metadata of the value with that name, or its tombstone (``SlotMetadata``)
///   namespaces     namespace → name → value, metadata
/// ```
///
/// Entries are sorted by the bytes of their names. The reserved dictionary `LocalData.metadata` comes last, and is
/// left out if it would be empty.
struct PropertyListDocument: Sendable {
    /// The name of the top-level entry for LocalData's data. No value can have this name.
    static let reservedName = "LocalData.metadata"
    static let format: Int64 = 1

    /// The slots, sorted by the bytes of their namespaces, then by the bytes of their names. The namespace of values
    /// comes first.
    private(set) var slots: [PropertyListSlot] = []
    /// The addresses of the values that another program removed. When the list was read, these values were missing, but
    /// the reserved dictionary still had their metadata.
    private(set) var removedByOthers: Set<StorageAddress> = []
    /// Entries of the reserved dictionary that this version of LocalData does not use. They are kept unchanged.
    private var extras: [String: NativeValue] = [:]
    /// The positions of the entries in the bytes of the file; nil if they are not known.
    private var layout: PropertyListLayout?

    /// Creates an empty document.
    init() {}

    // MARK: Reading

    /// Creates a document from the entries of a property list.
    init(_ entries: consuming [String: NativeValue]) throws(PropertyListFault) {
        var known: [String: NativeValue] = [:]
        var namespaces: [String: NativeValue] = [:]
        if let reserved = entries.removeValue(forKey: Self.reservedName) {
            guard case .dictionary(var fields) = reserved, case .integer(let format)? = fields.removeValue(forKey: "format") else {
                throw .damaged("the reserved dictionary \"\(Self.reservedName)\" is damaged")
            }
            guard format == Self.format else {
                throw .unsupported("its reserved dictionary has format \(format); this version reads format \(Self.format)")
            }
            known = try Self.dictionary(fields.removeValue(forKey: "entries"))
            namespaces = try Self.dictionary(fields.removeValue(forKey: "namespaces"))
            extras = fields
        }
        var slots: [PropertyListSlot] = []
        slots.reserveCapacity(entries.count)
        for (name, value) in entries {
            slots.append(PropertyListSlot(address: StorageAddress(name), value: value, metadata: known.removeValue(forKey: name)))
        }
        for (name, metadata) in known {
            slots.append(PropertyListSlot(address: StorageAddress(name), value: nil, metadata: metadata))
        }
        for (namespace, content) in namespaces {
            for (name, entry) in try Self.dictionary(content) {
                let fields = try Self.dictionary(entry)
                let address = StorageAddress(name, in: StorageNamespace(namespace))
                slots.append(PropertyListSlot(address: address, value: fields["value"], metadata: fields["metadata"]))
            }
        }
        // Drop the metadata of a value that another program removed.
        removedByOthers = Set(slots.lazy.filter { $0.value == nil && $0.probe == .absent }.map(\.address))
        self.slots = slots.filter { !removedByOthers.contains($0.address) }.sorted { Self.compare($0.address, $1.address) < 0 }
    }

    private static func dictionary(_ value: NativeValue?) throws(PropertyListFault) -> [String: NativeValue] {
        guard let value else { return [:] }
        guard case .dictionary(let entries) = value else { throw .damaged("the reserved dictionary \"\(reservedName)\" is damaged") }
        return entries
    }

    // MARK: Slots

    /// Returns the result of reading a slot.
    func probe(_ address: StorageAddress) -> StorageProbe { find(address).slot?.probe ?? .absent }

    /// Returns the slot at an address, and its index in ``slots``. For an empty slot, returns nil and the index at
    /// which a new slot must be inserted.
    func find(_ address: StorageAddress) -> (slot: PropertyListSlot?, index: Int) {
        var (low, high) = (0, slots.count)
        while low < high {
            let middle = (low + high) / 2
            let order = Self.compare(slots[middle].address, address)
            if order == 0 { return (slots[middle], middle) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (nil, low)
    }

    /// Stores a slot at its address, and replaces a slot that is already there.
    mutating func replace(_ slot: PropertyListSlot) {
        layout = nil
        let known = find(slot.address)
        if known.slot != nil { slots[known.index] = slot } else { slots.insert(slot, at: known.index) }
    }

    /// Deletes slots. Returns false if all of them were empty.
    mutating func remove(_ addresses: [StorageAddress]) -> Bool {
        let found = addresses.map(find).filter { $0.slot != nil }.map(\.index).sorted()
        if found.isEmpty { return false }
        let keepsReserved = !extras.isEmpty || slots.last?.address.namespace != .values
        layout = layout?.removing(found, keepsReserved: keepsReserved)
        var (kept, next) = ([PropertyListSlot](), 0)
        kept.reserveCapacity(slots.count - found.count)
        for index in found {
            kept += slots[next..<index]
            next = index + 1
        }
        slots = kept + slots[next...]
        return true
    }

    /// Returns the addresses whose state differs between two documents.
    func differences(from other: PropertyListDocument) -> Set<StorageAddress> {
        var changed: Set<StorageAddress> = []
        var (left, right) = (0, 0)
        while left < slots.count || right < other.slots.count {
            let order =
                if left == slots.count { 1 } else if right == other.slots.count { -1 } else {
                    Self.compare(slots[left].address, other.slots[right].address)
                }
            if order == 0 {
                let (mine, its) = (slots[left], other.slots[right])
                if mine !== its, mine.probe.revision != its.probe.revision { changed.insert(mine.address) }
            } else {
                changed.insert(order < 0 ? slots[left].address : other.slots[right].address)
            }
            if order <= 0 { left += 1 }
            if order >= 0 { right += 1 }
        }
        return changed
    }

    private static func compare(_ left: StorageAddress, _ right: StorageAddress) -> Int {
        let namespaces = ByteOrder.compare(left.namespace.name, right.namespace.name)
        return namespaces == 0 ? ByteOrder.compare(left.name, right.name) : namespaces
    }

    // MARK: Writing

    /// Returns the bytes of the property list. The format is XML, or binary if XML cannot represent a value exactly.
    /// Such a value can only come from a binary list that another program wrote.
    /// - Parameter old: The bytes of the document from which this one was made.
    mutating func encode(over old: [UInt8]) throws(BackendError) -> [UInt8] {
        if let (bytes, layout) = layout?.encoded(from: old) {
            self.layout = layout
            return bytes
        }
        layout = nil
        let pieces = slots.map(\.pieces)
        guard pieces.allSatisfy(\.isExact), PropertyListXML.represents(.dictionary(extras), .foundation) else {
            return try PropertyListReader.binary(entries)
        }
        var bytes = PropertyListXML.header
        bytes.reserveCapacity(old.count + 4_096)
        let valueCount = slots.firstIndex { $0.address.namespace != .values } ?? slots.count
        let reserved = pieces.contains { !$0.metadata.isEmpty } || valueCount < slots.count || !extras.isEmpty
        guard reserved || !slots.isEmpty else {
            PropertyListXML.appendTag("<dict/>", indent: 0, to: &bytes)
            return bytes + PropertyListXML.trailer
        }
        PropertyListXML.appendTag("<dict>", indent: 0, to: &bytes)
        let values = Self.append(pieces[..<valueCount].lazy.map(\.value), to: &bytes)
        let metadata = reserved ? appendReserved(pieces, valueCount, to: &bytes) : []
        PropertyListXML.appendTag("</dict>", indent: 0, to: &bytes)
        bytes.append(contentsOf: PropertyListXML.trailer)
        layout = PropertyListLayout(values: values, metadata: metadata, size: bytes.count)
        return bytes
    }

    /// Appends entries. Returns the position of each, and the end of the last one.
    private static func append(_ entries: some Collection<[UInt8]>, to bytes: inout [UInt8]) -> [Int] {
        var starts: [Int] = []
        starts.reserveCapacity(entries.count + 1)
        for entry in entries {
            starts.append(bytes.count)
            bytes.append(contentsOf: entry)
        }
        return starts + [bytes.count]
    }

    private func appendReserved(_ pieces: [PropertyListSlot.Pieces], _ valueCount: Int, to bytes: inout [UInt8]) -> [Int] {
        PropertyListXML.appendKey(Self.reservedName, indent: 1, to: &bytes)
        PropertyListXML.appendTag("<dict>", indent: 1, to: &bytes)
        PropertyListXML.appendEntry("format", .integer(Self.format), indent: 2, to: &bytes)
        for (name, value) in extras.sorted(by: { ByteOrder.compare($0.key, $1.key) < 0 }) {
            PropertyListXML.appendEntry(name, value, indent: 2, to: &bytes)
        }
        PropertyListXML.appendKey("entries", indent: 2, to: &bytes)
        PropertyListXML.appendTag("<dict>", indent: 2, to: &bytes)
        let metadata = Self.append(pieces[..<valueCount].lazy.map(\.metadata), to: &bytes)
        PropertyListXML.appendTag("</dict>", indent: 2, to: &bytes)
        if valueCount < slots.count {
            PropertyListXML.appendKey("namespaces", indent: 2, to: &bytes)
            PropertyListXML.appendTag("<dict>", indent: 2, to: &bytes)
            var namespace: StorageNamespace?
            for index in valueCount..<slots.count {
                let current = slots[index].address.namespace
                if current != namespace {
                    if namespace != nil { PropertyListXML.appendTag("</dict>", indent: 3, to: &bytes) }
                    PropertyListXML.appendKey(current.name, indent: 3, to: &bytes)
                    PropertyListXML.appendTag("<dict>", indent: 3, to: &bytes)
                    namespace = current
                }
                bytes.append(contentsOf: pieces[index].value)
            }
            PropertyListXML.appendTag("</dict>", indent: 3, to: &bytes)
            PropertyListXML.appendTag("</dict>", indent: 2, to: &bytes)
        }
        PropertyListXML.appendTag("</dict>", indent: 1, to: &bytes)
        return metadata
    }

    /// All entries of the property list as native values, for the binary format.
    private var entries: [String: NativeValue] {
        var top: [String: NativeValue] = [:]
        var known: [String: NativeValue] = [:]
        var namespaces: [String: [String: NativeValue]] = [:]
        for slot in slots {
            if slot.address.namespace == .values {
                top[slot.address.name] = slot.value
                known[slot.address.name] = slot.metadata
            } else {
                namespaces[slot.address.namespace.name, default: [:]][slot.address.name] = slot.namespaceEntry
            }
        }
        guard !known.isEmpty || !namespaces.isEmpty || !extras.isEmpty else { return top }
        var reserved = extras
        reserved["format"] = .integer(Self.format)
        reserved["entries"] = .dictionary(known)
        reserved["namespaces"] = .dictionary(namespaces.mapValues(NativeValue.dictionary))
        top[Self.reservedName] = .dictionary(reserved)
        return top
    }
}
