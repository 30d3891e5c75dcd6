import LocalDataCommands
import Testing

/// The line that shows the progress of a long command.
@Suite struct ToolProgressTests {
    private func line(_ done: Int, _ total: Int?, _ unit: ProgressLine.Unit, _ elapsed: Duration) -> String {
        ProgressLine("main", done: done, total: total, unit: unit, elapsed: elapsed).text
    }

    @Test func `the line has the rate and the remaining time`() {
        #expect(line(25, 100, .things("rows"), .seconds(5)) == "main: 25 rows of 100 rows, 25 %, 5 rows/s, 15 s left")
        #expect(line(12_340_000, 40_000_000, .bytes, .seconds(3)) == "main: 12.3 MB of 40.0 MB, 30 %, 4.1 MB/s, 7 s left")
        #expect(line(100, 100, .things("rows"), .seconds(5)) == "main: 100 rows of 100 rows, 100 %, 20 rows/s, 0 s left")
    }

    @Test func `a long remaining time is in minutes or hours`() {
        #expect(line(10, 2_010, .things("rows"), .seconds(1)) == "main: 10 rows of 2010 rows, 0 %, 10 rows/s, 3 min 20 s left")
        #expect(line(1, 7_501, .things("rows"), .seconds(1)) == "main: 1 rows of 7501 rows, 0 %, 1 rows/s, 2 h 5 min left")
    }

    @Test func `in the first second there is no rate, and without a total there is no remaining time`() {
        #expect(line(25, 100, .things("rows"), .milliseconds(900)) == "main: 25 rows of 100 rows, 25 %")
        #expect(line(999, nil, .bytes, .seconds(1)) == "main: 999 bytes, 999 bytes/s")
        #expect(line(0, 0, .things("rows"), .seconds(9)) == "main: 0 rows")
        // An estimated total that is too small is left out.
        #expect(line(30, 20, .things("rows"), .seconds(2)) == "main: 30 rows, 15 rows/s")
    }
}
