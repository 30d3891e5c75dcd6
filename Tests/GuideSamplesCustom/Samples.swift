import LocalData

/// What the tests run of the guide's samples.
public enum CustomSamples {
    /// The custom sample's key.
    public static var modernToken: StorageKey<String> { .modernToken }
}
