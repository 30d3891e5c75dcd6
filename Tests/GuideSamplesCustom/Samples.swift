import LocalData

/// What the tests run of the guide's samples.
public enum CustomSamples {
    /// The sample's key of today.
    public static var modernToken: StorageKey<String> { .modernToken }
}
