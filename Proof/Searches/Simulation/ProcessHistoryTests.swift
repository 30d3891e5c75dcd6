import RealFaults
import Testing

/// Tests that a history, made from the logs of several worker processes, reveals mistakes. Each mistake is planted into the logs.
@Suite struct ProcessHistoryTests {
    /// The violations of a history, from one log for each worker.
    private func violations(_ logs: String...) -> [String] {
        var history = ProcessHistory()
        for log in logs { history.add(log.split(separator: "\n").map { "\($0.trimmingPrefix { $0 == " " })\n" }.joined()) }
        return history.violations()
    }

    private let writer = """
        begin 10 1 set list-0 a
        end 20 1 ok
        begin 30 2 set list-0 b
        end 40 2 ok

        """

    @Test func `a history has no violation if one order of its calls explains all answers`() {
        #expect(violations(writer, "begin 15 1 get list-0\nend 18 1 ok a\nbegin 45 2 get list-0\nend 50 2 ok b\n").isEmpty)
        #expect(violations(writer, "begin 32 1 get list-0\nend 33 1 ok b\nbegin 34 2 remove list-0\nend 36 2 ok\n").isEmpty)
        #expect(violations(writer, "begin 5 1 get list-0\nend 6 1 ok -\n").isEmpty)
    }

    @Test func `a lost acknowledged write is a violation`() {
        #expect(violations(writer, "begin 45 1 get list-0\nend 50 1 ok a\n").count == 1)
        #expect(violations(writer, "begin 45 1 get list-0\nend 50 1 ok -\n").count == 1)
    }

    @Test func `a value that comes back or was never written is a violation`() {
        #expect(violations(writer, "begin 41 1 remove list-0\nend 42 1 ok\nbegin 45 2 get list-0\nend 50 2 ok b\n").count == 1)
        #expect(violations(writer, "begin 32 1 get list-0\nend 33 1 ok b\nbegin 34 2 get list-0\nend 35 2 ok a\n").count == 1)
        #expect(violations(writer, "begin 45 1 get list-0\nend 50 1 ok c\n").count == 1)
    }

    @Test func `a change with an unknown outcome may be seen later, and a refused change must never be seen`() {
        for ending in ["end 60 1 unknown timedOut\n", ""] {
            let late = "begin 50 1 set list-0 c\n" + ending
            #expect(violations(writer, late).isEmpty)
            #expect(violations(writer, late, "begin 70 1 get list-0\nend 71 1 ok c\n").isEmpty)
            #expect(violations(writer, late, "begin 70 1 get list-0\nend 71 1 ok b\nbegin 80 2 get list-0\nend 81 2 ok c\n").isEmpty)
            #expect(violations(writer, late, "begin 70 1 get list-0\nend 71 1 ok c\nbegin 80 2 get list-0\nend 81 2 ok b\n").count == 1)
            #expect(violations(writer, late, "begin 45 1 get list-0\nend 46 1 ok c\n").count == 1)
        }
        let refused = "begin 50 1 set list-0 c\nend 60 1 notApplied timedOut\n"
        #expect(violations(writer, refused).isEmpty)
        #expect(violations(writer, refused, "begin 70 1 get list-0\nend 71 1 ok c\n").count == 1)
    }

    @Test func `a counter with too few or too many increments is a violation`() {
        let adding = "begin 10 1 add list-count\nend 20 1 ok 1\nbegin 30 2 add list-count\nend 40 2 ok 2\nbegin 50 3 add list-count\n"
        for (count, wrong) in [(1, 2), (2, 0), (3, 0), (4, 2)] {
            #expect(violations(adding, "begin 60 1 get list-count\nend 61 1 ok \(count)\n").count == wrong, "\(count)")
        }
        // Two callers got the same sum.
        #expect(violations(adding, "begin 32 1 add list-count\nend 45 1 ok 2\nbegin 60 2 get list-count\nend 61 2 ok 3\n").count == 1)
    }

    @Test func `an unexpected error is a violation`() {
        #expect(violations(writer, "begin 50 1 get list-0\nend 60 1 notApplied corrupted\n").count == 1)
        #expect(violations(writer, "begin 50 1 get list-0\nend 60 1 untyped Surprise()\n").count == 1)
    }

    @Test func `it is a violation if two releases of a program do not both end with the last written value`() {
        let old = "begin 10 1 set older-rolling a\nend 20 1 ok\nbegin 30 2 set older-rolling b\nend 40 2 ok\n"
        func end(_ older: String, _ newer: String) -> String {
            "begin 50 1 get older-rolling\nend 51 1 ok \(older)\nbegin 52 2 get rolling\nend 53 2 ok \(newer)\n"
        }
        #expect(violations(old, end("b", "b")).isEmpty)
        #expect(!violations(old, end("a", "b")).isEmpty)
        #expect(!violations(old, end("a", "a")).isEmpty)
        #expect(!violations(old, end("c", "c")).isEmpty)
        #expect(!violations(old, end("-", "-")).isEmpty)
    }
}
