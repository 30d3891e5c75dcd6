import Foundation
import LocalData

/// The names of a catalog in generated files.
struct CatalogNames: Sendable {
    /// The catalog's id.
    let id: String
    /// The id on one line, for people.
    var title: String { SwiftText.line(id) }
    /// The module that declares the catalog's type.
    let module: String
    /// The catalog's type, as the module and its tests write it.
    let type: String
    /// The id as part of Swift names.
    let identifier: String

    /// - Throws: ``AuthoringRefusal`` if tests cannot name the catalog's type.
    init(_ catalog: some StorageKeyCatalog) throws {
        let name = String(reflecting: Swift.type(of: catalog))
        guard let dot = name.firstIndex(of: "."), !name.contains("(unknown context") else {
            throw AuthoringRefusal(
                "The type of the catalog \(catalog.id) is private. Tests must be able to name it: declare it without `private`.")
        }
        id = catalog.id
        module = String(name[..<dot])
        type = String(name[name.index(after: dot)...])
        identifier = SwiftText.identifier(catalog.id)
    }

    /// The name of the enum and of the file with the steps of a release.
    func steps(of release: Int, named name: String?) -> String {
        "\(identifier)Release\(release)\(name.map(SwiftText.identifier) ?? "")"
    }
}
