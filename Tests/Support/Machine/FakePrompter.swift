#if Keyring && os(Linux)
    /// Takes the place of the program that shows gnome-keyring's prompts, as long as the object lives.
    package final class FakePrompter {
        private let bus: PrivateBus

        /// Takes the place.
        /// - Parameter isSilent: Whether prompts stay open for ever; otherwise each ends at once, unanswered.
        package init(on keyring: PrivateKeyring, isSilent: Bool) throws {
            bus = try PrivateBus(keyring.address)
            if isSilent { bus.ignoreRequests() }
            try bus.own("org.gnome.keyring.SystemPrompter")
        }
    }
#endif
