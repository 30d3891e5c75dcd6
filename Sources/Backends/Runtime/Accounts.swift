#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The users and groups of the machine.
///
/// The files are read in full, because the user database has no question for the users whose primary group is a given one. The name
/// service (nsswitch.conf) is asked only for one group or one name: a list of all users of a network directory can take minutes, and many
/// directories refuse it.
/// Reason: "A private group has no other member" in Docs/Decisions/Files.md.
package struct Accounts: Hashable, Sendable {
    private let usersFile: String
    private let groupsFile: String
    private let asksNameService: Bool

    /// Creates the accounts of this machine.
    /// - Parameters:
    ///   - usersFile: The file with a line for each user.
    ///   - groupsFile: The file with a line for each group.
    ///   - asksNameService: Whether the name service is asked for groups and users that are not in the files.
    package init(usersFile: String = "/etc/passwd", groupsFile: String = "/etc/group", asksNameService: Bool = true) {
        (self.usersFile, self.groupsFile, self.asksNameService) = (usersFile, groupsFile, asksNameService)
    }

    /// Returns whether no user besides the given one and root is a member of a group. Blocks while a network directory is asked.
    ///
    /// A group without an entry has no members: only root can start a process in it, as Kubernetes does for `fsGroup`.
    package func isPrivate(_ group: UInt32, of user: UInt32, files: some FileSystem) throws(FileError) -> Bool {
        let users = try lines(of: usersFile, files: files).compactMap(User.init)
        guard users.allSatisfy({ $0.group != group || $0.id == user || $0.id == 0 }) else { return false }
        var names = Set(try lines(of: groupsFile, files: files).flatMap { Self.members($0, ofGroup: group) })
        if asksNameService {
            switch Self.members(ofGroup: group) {
            case .found(let found): names.formUnion(found)
            case .missing: break
            case .failed: return false
            }
        }
        return names.allSatisfy { name in
            var ids = users.filter { $0.name == name }.map(\.id)
            if ids.isEmpty, asksNameService, case .found(let id) = Self.user(name) { ids = [id] }
            return !ids.isEmpty && ids.allSatisfy { $0 == user || $0 == 0 }
        }
    }

    // MARK: The files

    /// A line of `/etc/passwd`: `name:password:user ID:group ID:…`.
    private struct User {
        let name: String
        let id: UInt32
        let group: UInt32

        init?(_ line: Substring) {
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count > 3, let id = UInt32(fields[2]), let group = UInt32(fields[3]) else { return nil }
            (name, self.id, self.group) = (String(fields[0]), id, group)
        }
    }

    /// Returns the names in a line of `/etc/group` (`name:password:group ID:name,name,…`) if it is a line of the given group.
    private static func members(_ line: Substring, ofGroup group: UInt32) -> [String] {
        let fields = line.split(separator: ":", omittingEmptySubsequences: false)
        guard fields.count > 3, UInt32(fields[2]) == group else { return [] }
        return fields[3].split(separator: ",").map(String.init)
    }

    private func lines(of path: String, files: some FileSystem) throws(FileError) -> [Substring] {
        guard let contents = try files.read(path) else { return [] }
        return String(decoding: contents.bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
    }

    // MARK: The name service

    /// An answer of the name service.
    private enum Answer<Content> {
        case found(Content)
        case missing
        /// The service could not say, for example because a network directory does not answer.
        case failed
    }

    /// Asks with a growing buffer.
    /// - Parameter question: The call, which returns an error number, or 0, and the content if there is an entry.
    private static func ask<Content>(_ question: (UnsafeMutablePointer<CChar>, _ size: Int) -> (Int32, Content?)) -> Answer<Content> {
        var size = 1 << 12
        while true {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { buffer.deallocate() }
            let (error, content) = question(buffer, size)
            if let content { return .found(content) }
            switch error {
            case EINTR: continue
            case ERANGE where size < 1 << 26: size *= 4
            case ERANGE, EIO, EMFILE, ENFILE, ENOMEM, EAGAIN, ETIMEDOUT: return .failed
            // The manual lists several numbers for a missing entry, and a service that is not installed has others.
            default: return .missing
            }
        }
    }

    /// Returns the members of a group, without the users whose primary group it is.
    private static func members(ofGroup id: UInt32) -> Answer<[String]> {
        ask { buffer, size in
            var entry = group()
            var found: UnsafeMutablePointer<group>?
            let error = getgrgid_r(id, &entry, buffer, size, &found)
            guard found != nil else { return (error, nil) }
            var names: [String] = []
            var next = entry.gr_mem
            while let name = next?.pointee {
                names.append(String(cString: name))
                next = next?.advanced(by: 1)
            }
            return (0, names)
        }
    }

    /// Returns the ID of a user with a name.
    private static func user(_ name: String) -> Answer<UInt32> {
        ask { buffer, size in
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            let error = getpwnam_r(name, &entry, buffer, size, &found)
            return found == nil ? (error, nil) : (0, entry.pw_uid)
        }
    }
}
