#if Configuration
    import Configuration
    import LocalData
    import LocalDataConfiguration

    extension StorageKey where Value == String {
        fileprivate static let apiToken = StorageKey(name: "api-token", domain: .keychain)
    }

    /// The sample of the guide to the provider for swift-configuration. It is compiled, and not run.
    enum GuideConfiguration {
        static func provider(_ storage: StorageRouter) async throws -> (Int, String) {
            let provider = try await StorageConfigProvider(storage, keys: ["api.token": .key(.apiToken)])
            let config = ConfigReader(providers: [EnvironmentVariablesProvider(), provider])

            let port = config.int(forKey: "http.port", default: 8080)  // the entry http.port of the user defaults
            let token = try await config.fetchRequiredString(forKey: "api.token")  // the keyring; marked as a secret

            do { try await provider.reload() } catch StorageError.locked {
                try await storage.unlock(.keychain)  // may open a prompt
                try await provider.reload()
            }

            try await config.watchInt(forKey: "http.port", default: 8080) { ports in
                for await port in ports { print("The port is now \(port).") }
            }
            return (port, token)
        }
    }
#endif
