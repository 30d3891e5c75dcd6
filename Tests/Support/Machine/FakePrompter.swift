#if Keyring && os(Linux)
    /// Replaces the program that shows gnome-keyring's prompts, for as long as this object exists.
    package final class FakePrompter {
        private let bus: PrivateBus

        /// Takes the prompter's name on the bus.
        /// - Parameter isSilent: Whether prompts stay open for ever. Otherwise each prompt ends at once, unanswered.
        package init(on keyring: PrivateKeyring, isSilent: Bool) throws {
            bus = try PrivateBus(keyring.address)
            if isSilent { bus.ignoreRequests() }
            try bus.own("org.gnome.keyring.SystemPrompter")
        }
    }
#endif
