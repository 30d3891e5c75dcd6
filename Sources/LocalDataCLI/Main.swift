import ArgumentParser
import Foundation
import LocalDataCommands

/// The entry point. It checks that all arguments are valid UTF-8 before they are parsed.
@main
enum Main {
    static func main() async {
        // Decoding would replace invalid bytes, so that different arguments could result in the same wrong name.
        // Reason: "Arguments and input that are not UTF-8 are refused" in Docs/Decisions/ToolAndErrors.md.
        for argument in CommandLine.argumentBytes where String(validating: argument, as: UTF8.self) == nil {
            Failure.write("localdata: An argument is not text (UTF-8): \(String(decoding: argument, as: UTF8.self)). Nothing was done.")
            exit(ExitStatus.usage.rawValue)
        }
        await LocalDataTool.main()
    }
}

extension CommandLine {
    /// The arguments as raw bytes.
    fileprivate static var argumentBytes: [[UInt8]] {
        (0..<Int(argc)).compactMap { index in
            unsafeArgv[index].map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
        }
    }
}
