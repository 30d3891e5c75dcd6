import LocalData

/// The samples of the guide about custom migrations that tests run.
public enum CustomSamples {
    /// The current key in the sample.
    public static var modernToken: StorageKey<String> { .modernToken }
}
