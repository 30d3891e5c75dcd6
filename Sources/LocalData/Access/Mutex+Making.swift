import Synchronization

extension Mutex {
    /// Returns the value of a key, and makes it if there is none. The value is made without the lock, because that may call code
    /// of the program. If two callers make a value at the same time, both get the first one.
    func value<Key: Hashable & Sendable, Made: Sendable, Failure: Error>(
        at key: Key, orMake make: () throws(Failure) -> Made
    ) throws(Failure) -> Made where Value == [Key: Made] {
        if let known = withLock({ $0[key] }) { return known }
        let made = try make()
        return withLock { all in
            if let known = all[key] { return known }
            all[key] = made
            return made
        }
    }

    /// Returns the value, and makes it if there is none, without the lock.
    func value<Made: Sendable, Failure: Error>(orMake make: () throws(Failure) -> Made) throws(Failure) -> Made where Value == Made? {
        if let known = withLock(\.self) { return known }
        let made = try make()
        return withLock { known in
            if let known { return known }
            known = made
            return made
        }
    }
}
