import Synchronization

/// The mutant that runs now. `Scripts/mutate` adds this file to a copy of LocalData, together with the patches that ask it.
package enum Mutation {
    private static let current = Mutex<String?>(nil)

    /// Chooses the mutant of the whole process; nil runs the code without any mutant.
    package static func set(_ name: String?) { current.withLock { $0 = name } }

    package static func isOn(_ name: String) -> Bool { current.withLock { $0 == name } }
}
