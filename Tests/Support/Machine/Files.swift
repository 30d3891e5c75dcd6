package import Foundation

/// The folder `Tests` of the checkout.
package let testsFolder = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

/// Writes a file that only its owner may read, unless other permissions are given.
package func writeFile(_ bytes: some Sequence<UInt8>, to path: String, permissions: Int = 0o600) throws {
    guard FileManager.default.createFile(atPath: path, contents: Data(bytes), attributes: [.posixPermissions: permissions]) else {
        throw ProgramFailure("\(path) cannot be written")
    }
    try setPermissions(permissions, of: path)
}

/// Writes a text as a file that only its owner may read.
package func writeFile(_ text: String, to path: String) throws { try writeFile(text.utf8, to: path) }

/// Returns the content of a file.
package func fileBytes(_ path: String) throws -> [UInt8] { try Array(Data(contentsOf: URL(filePath: path))) }

/// Returns the permissions of a file or folder.
package func filePermissions(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
}

/// Changes the permissions of a file or folder.
package func setPermissions(_ permissions: Int, of path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
}
