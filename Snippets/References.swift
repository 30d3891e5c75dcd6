// A record that refers to a record of another collection.
// snippet.hide
import LocalData

let library = StorageKeyGroup(owner: "Library", domain: .encryptedSQLite(database: "library"))
let books: StorageCollection<Book> = library.collection("books", "Books on the shelf")

var configuration = StorageConfiguration.inMemory()
configuration.passphrase = { _ in "only for this snippet" }
let storage = StorageRouter(configuration: configuration)

// snippet.show
struct Author: StoredEntity {
    var id: String
    var name: String
    static let collection: StorageCollection<Author> = library.collection("authors", "Authors of books")
}

struct Book: Codable, Sendable, Identifiable {
    var id: String
    var author: StorageReference<Author>
}

let kari = Author(id: "kari", name: "Kari")
try await storage.set(Book(id: "1", author: StorageReference(kari)), in: books)  // stores Kari too, in the same commit
let book = try await storage.get("1", in: books)
let author = try await storage.resolve(book.author)  // throws notFound with the id if the author was removed
// snippet.hide
guard author.name == "Kari" else { fatalError() }
