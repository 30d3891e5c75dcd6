import DefaultsBackend
public import Foundation
public import LocalData

/// The objects that `NSKeyedArchiver` wrote on a Mac, without their classes.
///
/// Use it to move a value that an earlier program has archived:
///
/// ```swift
/// let profile = StorageKey<Profile>(name: "profile", domain: .userDefaults, owner: "User", description: "The profile")
///     .moved(from: archivedProfile) { try KeyedArchive($0).decode() }  // if it throws, the archive stays unchanged
/// ```
///
/// Strings, numbers, dates, data, lists, sets and dictionaries become the corresponding value of a document. A `UUID` becomes
/// its text, and a `URL` its absolute text. An object of any other class becomes an object with the properties that it encoded,
/// and with the name of its class as `$class`. No class is loaded, and no code of the archive runs.
///
/// The bytes may come from an untrusted source. An archive is refused if its objects contain each other, if they are nested
/// more than 64 levels deep, or if they expand to far more values than the archive contains.
public struct KeyedArchive: Sendable {
    /// The objects by their names. `archivedData(withRootObject:)` writes one object with the name `root`.
    public let values: [String: DocumentValue]

    /// Reads an archive, in the binary or the XML format.
    ///
    /// ```swift
    /// do {
    ///     let archive = try KeyedArchive(data)
    ///     print("The archive has the objects \(archive.values.keys.sorted()).")
    /// } catch StorageError.undecodable { print("The data is no keyed archive, or is damaged.") } catch {
    ///     print(error.localizedDescription)  // unsupported: it has content that this version cannot read
    /// }
    /// ```
    /// - Throws: `StorageError` with `undecodable` if the bytes are damaged or no keyed archive, and with `unsupported` if this
    ///   version cannot read all of its content. The error contains no part of the content.
    public init(_ data: Data) throws {
        do throws(PropertyListFault) { values = try KeyedArchiveReader.read([UInt8](data)) } catch {
            switch error {
            case .damaged(let how): throw StorageError(StorageError.undecodable, key: "", "The data is no usable keyed archive: \(how).")
            case .unsupported(let why): throw StorageError(StorageError.unsupported, key: "", "The archive cannot be read: \(why).")
            }
        }
    }

    /// Decodes an object as a type.
    ///
    /// ```swift
    /// do {
    ///     let profile = try archive.decode(Profile.self)
    ///     print(profile.name)
    /// } catch StorageError.undecodable { print("The class has encoded other properties than `Profile` has.") }
    /// ```
    /// - Parameters:
    ///   - type: The type. The names of its properties are those that the class has encoded.
    ///   - name: The name of the object.
    /// - Throws: `StorageError` with `notFound` if there is no such object, and with `undecodable` if it is not of the type.
    ///   The error contains no part of the content.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self, named name: String = "root") throws -> Value {
        guard let value = values[name] else {
            throw StorageError(StorageError.notFound, key: name, "The archive has no object with this name.")
        }
        do {
            return try JSONDecoder().decode(type, from: try JSONEncoder().encode(value))
        } catch {
            throw StorageError(.undecodable, key: name, "The archived object cannot be read as \(Value.self): \(CodingFailure(error)).")
        }
    }
}
