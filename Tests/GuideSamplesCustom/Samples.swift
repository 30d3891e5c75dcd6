import LocalData

/// What the tests run of the guide's samples.
public enum CustomSamples {
    public static var modernToken: StorageKey<String> { .modernToken }
}
