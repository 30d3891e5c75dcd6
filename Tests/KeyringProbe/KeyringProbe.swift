import BackendContract
import BackendRuntime
import KeyringBackend

/// A program that uses the keyring as it is told, line by line, and answers every line with one line: for tests that stop, kill or
/// replace the daemon or the bus under it.
@main
struct KeyringProbe {
    static func main() async {
        #if Keyring && os(Linux)
            var session = ProbeSession(arguments: CommandLine.arguments)
            while let line = readLine() {
                print(await session.answer(line.split(separator: " ").map(String.init)))
                flushOutput()
            }
        #else
            print("This build has no keyring: it was made without the trait Keyring, or not on Linux.")
        #endif
    }
}
