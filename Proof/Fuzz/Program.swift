import Foundation

/// Prepares a run. libFuzzer's `main` calls this function once, and then `run` for each input (`Scripts/fuzz`).
///
/// `--target=<name>` names the target. libFuzzer ignores arguments with two hyphens. With `--seeds=<folder>`, the
/// program only writes the seeds of the target into the folder. With `--list`, it only prints the names of the
/// targets.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>
) -> CInt {
    if CommandLine.arguments.contains("--list") {
        for target in FuzzTarget.all { print(target.name) }
        exit(0)
    }
    if let folder = option("--seeds=") {
        do { try write(seedsOf: chosen, to: folder) } catch { quit("The seeds could not be written: \(error)") }
        exit(0)
    }
    _ = chosen
    return 0
}

/// Runs the target on one input, and stops the process if a promise is broken.
@_cdecl("LLVMFuzzerTestOneInput")
public func run(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do throws(BrokenPromise) {
        try chosen.run(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    } catch {
        fatalError(error.description)
    }
}

private let chosen: FuzzTarget = {
    guard let name = option("--target="), let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        quit("Say which target: --target=\(FuzzTarget.all.map(\.name).joined(separator: "|"))")
    }
    return target
}()

private func option(_ name: String) -> String? {
    CommandLine.arguments.first { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count)) }
}

private func write(seedsOf target: FuzzTarget, to folder: String) throws {
    for (number, seed) in target.seeds().enumerated() {
        let name = "seed-" + (number < 10 ? "0" : "") + "\(number)"
        try Data(seed).write(to: URL(filePath: folder).appending(path: name))
    }
}

private func quit(_ reason: String) -> Never {
    FileHandle.standardError.write(Data((reason + "\n").utf8))
    exit(64)
}
