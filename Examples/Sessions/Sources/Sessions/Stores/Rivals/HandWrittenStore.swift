import Foundation
import LocalData

/// Stores sessions and tokens in two JSON files, and moves the tokens of version 1 at launch: what a program does without
/// a library.
///
/// Each change replaces a file as a whole. A process that is killed leaves the former file or the new one, so one process
/// loses nothing when it is killed. The store loses data in these ways:
///
/// * Several processes: each one writes what it has in memory, and overwrites the changes of the others. A process that
///   still moves the tokens of version 1 overwrites a token that another one has already changed, and brings back a token
///   that another one has removed.
/// * A power cut: Foundation flushes the new file, but not the folder after the file was renamed. An acknowledged change
///   can be missing.
///
/// The tokens are in plaintext, and each change rewrites all sessions.
actor HandWrittenStore: SessionStore {
    private var sessions: [String: String]
    private var tokens: [String: String]
    private let sessionsFile: URL
    private let tokensFile: URL

    /// Reads the files, and moves the tokens of version 1.
    /// - Parameters:
    ///   - directories: The folders of the files, and of the list of version 1.
    ///   - suite: The name of the list of version 1.
    init(directories: StorageDirectories?, suite: String) throws {
        guard let directories else { throw CocoaError(.fileNoSuchFile) }
        let folder = URL(filePath: directories.data)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        sessionsFile = folder.appending(path: "sessions.json")
        tokensFile = folder.appending(path: "tokens.json")
        sessions = try Self.read(sessionsFile)
        var tokens = try Self.read(tokensFile)

        let list = URL(filePath: directories.preferences).appending(path: "\(suite).plist")
        if FileManager.default.fileExists(atPath: list.path) {
            struct VersionOne: Decodable { var tokens: [String: String] }
            for (user, token) in try PropertyListDecoder().decode(VersionOne.self, from: Data(contentsOf: list)).tokens {
                tokens[user] = token
                try Self.write(tokens, to: tokensFile)
            }
            // All tokens are in the new file. A kill before this line repeats the move at the next launch.
            try FileManager.default.removeItem(at: list)
        }
        self.tokens = tokens
    }

    func create(_ id: String, user: String) throws -> Bool {
        guard sessions[id] == nil else { return false }
        sessions[id] = user
        try Self.write(sessions, to: sessionsFile)
        return true
    }

    func user(of id: String) -> String? { sessions[id] }

    func end(_ id: String) throws {
        sessions[id] = nil
        try Self.write(sessions, to: sessionsFile)
    }

    func set(token: String, of user: String) throws {
        tokens[user] = token
        try Self.write(tokens, to: tokensFile)
    }

    func token(of user: String) -> String? { tokens[user] }

    func removeToken(of user: String) throws {
        tokens[user] = nil
        try Self.write(tokens, to: tokensFile)
    }

    private static func read(_ file: URL) throws -> [String: String] {
        guard FileManager.default.fileExists(atPath: file.path) else { return [:] }
        return try JSONDecoder().decode([String: String].self, from: Data(contentsOf: file))
    }

    private static func write(_ values: [String: String], to file: URL) throws {
        try JSONEncoder().encode(values).write(to: file, options: .atomic)
    }
}
