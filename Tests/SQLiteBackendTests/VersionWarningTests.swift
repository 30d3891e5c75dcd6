#if SQLite
    import Testing

    @testable import SQLiteBackend

    struct VersionWarningTests {
        @Test(arguments: [
            (3_040_001, true), (3_044_005, true), (3_044_006, false), (3_045_000, true), (3_050_006, true), (3_050_007, false),
            (3_051_002, true), (3_051_003, false), (3_052_000, false),
        ])
        func `only SQLite versions that can damage a database have a warning`(_ test: (version: Int, isWarned: Bool)) {
            #expect((SQLiteStore.warning(version: test.version, text: "x") != nil) == test.isWarned)
        }
    }
#endif
