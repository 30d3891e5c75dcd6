@testable import BackendContract
@testable import DefaultsBackend
@testable import KeyringBackend

#if SQLite
    import SQLiteBackend
#endif

/// The fuzz target for names: a store encodes a name before it stores it, and must get the same name back.
extension FuzzTarget {
    static let names: [FuzzTarget] = [
        FuzzTarget(name: "names", seeds: { NameSeeds.all }) { (bytes) throws(BrokenPromise) in
            let texts = bytes.split(separator: 0, maxSplits: 3, omittingEmptySubsequences: false).map {
                String(decoding: $0, as: UTF8.self)
            }
            let stored = texts[0]
            try checkStoredName(stored)
            let first = StorageAddress(stored, in: StorageNamespace(texts.count > 1 ? texts[1] : ""))
            let second = StorageAddress(texts.count > 2 ? texts[2] : stored, in: StorageNamespace(texts.count > 3 ? texts[3] : ""))
            try checkSuite(stored)
            try checkDatabase(stored)
            // A name that is far too long must be refused before it is encoded.
            if let long = texts.first(where: { $0.utf8.count > 4 * StorageAddress.maximumNameLength }) {
                return try promise(!isValid(StorageAddress(long)), "a name of that length is let in")
            }
            for address in [first, second] { try checkAddress(address) }
            try promise(
                (first == second) == (Folder.storedName(of: first) == Folder.storedName(of: second)),
                "two addresses share a stored name, or one has two")
            try checkKeyring(texts, first)
        }
    ]

    private typealias Folder = ByteStoreBackend<NoBytes>

    /// Checks an arbitrary text as a stored name in a byte store, which keeps each value under such a name, for example
    /// as a file. Another program may have created a file with any name.
    private static func checkStoredName(_ text: String) throws(BrokenPromise) {
        guard let address = Folder.address(storedAs: text) else { return }
        try promise(isValid(address), "a file is taken for a slot that cannot be")
        try promise(Folder.storedName(of: address).utf8.elementsEqual(text.utf8), "a slot has two stored names")
    }

    private static func checkAddress(_ address: StorageAddress) throws(BrokenPromise) {
        let stored = Folder.storedName(of: address)
        try promise(stored.utf8.allSatisfy { "n.0123456789abcdef".utf8.contains($0) }, "a stored name is not plain")
        if isValid(address) {
            try promise(Folder.address(storedAs: stored) == address, "a name does not come back")
            try promise(
                !address.name.unicodeScalars.contains { $0.properties.generalCategory == .control }, "a control character is let in")
            try promise(1...StorageAddress.maximumNameLength ~= address.name.utf8.count, "a name of that length is let in")
        } else {
            try promise(Folder.address(storedAs: stored) == nil, "a name that is refused is listed")
        }
        guard (try? PropertyListStore.validate(address)) != nil else { return }
        try promise(isValid(address), "a property list takes a name that no store may take")
        var document = PropertyListDocument()
        document.replace(PropertyListSlot(address, .native(.boolean(true)), StorageMetadata(), StorageRevision([1])))
        guard let bytes = try? document.encoded(), let entries = try? PropertyListReader.read(bytes),
            let again = try? PropertyListDocument(entries)
        else { throw BrokenPromise(description: "a name makes a property list that cannot be read") }
        try promise(again.slots.map(\.address) == [address], "a name in a property list does not come back")
    }

    /// Checks layouts of keyring items. A layout determines the attributes of an item, and the library finds items by
    /// them. It must get an item's slot back from the item's attributes. Two layouts must have the same identity
    /// exactly if they search for the same attributes.
    private static func checkKeyring(_ texts: [String], _ address: StorageAddress) throws(BrokenPromise) {
        var attributes: [[String: String]] = []
        for half in [texts.prefix(2), texts.dropFirst(2)] {
            attributes.append(half.isEmpty ? [:] : [half.first ?? "": half.last ?? ""])
        }
        let layouts = attributes.map { ItemLayout(service: address.namespace.name, style: .secretTool(attributes: $0)) }
        let others = texts.map { ItemLayout(service: $0, style: .localData) }
        for kind in [layouts, others] {
            // LocalData's own layout also searches for the namespace. The namespace is not part of the layout's
            // identity, so it is left out of the comparison.
            let seen = kind.map { layout in
                let attributes = layout.search(.values).filter { layout.style.isInterop || $0.key != "namespace" }
                return (identity: Array(layout.identity.utf8), attributes: sorted(attributes))
            }
            for left in seen {
                for right in seen {
                    try promise(
                        (left.identity == right.identity) == (left.attributes == right.attributes), "two keyring layouts share an identity")
                }
            }
        }
        for layout in layouts + others where (try? layout.validate(address)) != nil {
            let back = layout.address(of: layout.written(address), in: address.namespace)
            try promise(back == address, "an item's attributes do not lead back to its slot")
        }
    }

    private static func sorted(_ attributes: [String: String]) -> [[[UInt8]]] {
        attributes.map { [Array($0.key.utf8), Array($0.value.utf8)] }.sorted { $0[0].lexicographicallyPrecedes($1[0]) }
    }

    private static func checkSuite(_ name: String) throws(BrokenPromise) {
        guard let path = try? PropertyListStore.path(ofSuite: name, in: "/d") else { return }
        let file = Array(path.utf8.dropFirst(3))
        try promise(path.utf8.starts(with: "/d/".utf8) && !file.contains(UInt8(ascii: "/")), "a suite leads out of its folder")
        try promise(file != Array("..".utf8) && file != Array(".".utf8) && file.count <= 255, "a suite is no file name")
        try promise(!path.utf8.contains(0), "a suite's name is cut off")
    }

    private static func checkDatabase(_ name: String) throws(BrokenPromise) {
        #if SQLite
            guard let path = try? SQLiteStore.path(ofDatabase: name, in: "/d") else { return }
            try promise(path.utf8.elementsEqual("/d/\(name).sqlite".utf8), "a database is not where it should be")
            try promise(!path.utf8.dropFirst(3).contains(UInt8(ascii: "/")), "a database leads out of its folder")
        #endif
    }

    private static func isValid(_ address: StorageAddress) -> Bool { (try? address.validate()) != nil }
}

/// An empty byte store. Only its type is needed, because ``ByteStoreBackend`` is generic.
struct NoBytes: ByteStore {
    let identity = BackendIdentity(kind: "none", store: "none")
    let capabilities = BackendCapabilities(durability: .process)
    func read(_ name: String) async throws(BackendError) -> [UInt8]? { nil }
    func write(_ bytes: [UInt8], _ name: String) async throws(BackendError) {}
    func delete(_ name: String) async throws(BackendError) {}
    func list() async throws(BackendError) -> [String] { [] }
}

enum NameSeeds {
    static let all: [[UInt8]] = [
        "n..61", "n.6e73.c3a9", "n..C3A9", "n..\u{FF16}1", "a\0n\0b\0m", "\u{E9}\0\0e\u{301}", "..", "../x", "file:a", "~a",
        "a;b=c\\\0d=\0a\0\\;b",
        "\u{1F511}\0name space", "LocalData.metadata", "<&>\"'\0&amp;", "\u{FFFE}\0\u{85}", "com.example.app",
    ].map { Array($0.utf8) }
}
