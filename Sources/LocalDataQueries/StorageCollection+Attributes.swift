public import LocalData

extension StorageCollection {
    /// Returns this collection with an attribute by which an encrypted database finds records quickly.
    ///
    /// The attribute is derived from a property of each record. Declare one for each property that queries often compare
    /// with `==`.
    ///
    /// ```swift
    /// let notes: StorageCollection<Note> = editor.collection("notes", "The user's notes").attribute("tag", \.tag)
    /// try await storage.set(note, in: notes)  // stores the attribute with the note
    /// let work = try await storage.records(in: notes, where: \.tag == "work")  // after a sweep, reads only these notes
    /// let drafts: StorageCollection<Note> = editor.collection("drafts").attribute("syncStatus", \.tag)
    /// do { try await storage.set(note, in: drafts) } catch StorageError.unsupported { print("Give the attribute another name.") }
    /// ```
    ///
    /// Every write of a record stores the attribute: `set`, `update`, batches, references, and migrations. A text that
    /// the program sets for the same name is replaced. Declare the attribute on every release of the program that
    /// writes the collection.
    ///
    /// In an encrypted database, a query with `==` on the property reads only the records with the value, as soon as all
    /// records of the collection have the attribute. A sweep adds it to records that were stored before. Until then,
    /// queries read every record. The results are the same.
    ///
    /// The file of the database shows how many records share a value, but not which value: see the guide on records. In
    /// a store that does not hide the metadata of an encrypted record, the attribute is not stored.
    /// - Parameters:
    ///   - name: The name of the attribute. It must not be `syncStatus`, and must not begin with `LocalData.`; a write
    ///     then throws `unsupported`. To derive it in another way later, give it another name.
    ///   - path: The property that the attribute is derived from.
    public func attribute<Value: AttributeValue>(_ name: String, _ path: any KeyPath<Record, Value> & Sendable) -> Self {
        deriving(DerivedAttribute(name, path) { $0.attributeText })
    }
}
