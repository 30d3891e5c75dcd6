#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The kind of failure of a system call.
enum FileErrorKind {
    case accessDenied, noSpace, timedOut, exhausted, other

    init(_ number: Int32) {
        switch number {
        case EACCES, EPERM, EROFS: self = .accessDenied
        case ENOSPC, EDQUOT, EFBIG: self = .noSpace
        case ETIMEDOUT: self = .timedOut
        case EMFILE, ENFILE, ENOMEM: self = .exhausted
        default: self = .other
        }
    }
}

func isNumberOfTakenName(_ number: Int32) -> Bool { number == EEXIST }

func isNumberOfMissingName(_ number: Int32) -> Bool { number == ENOENT }

func systemErrorText(_ number: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard strerror_r(number, &buffer, buffer.count) == 0 else { return "error \(number)" }
    return buffer.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "error \(number)" }
}

/// The maximum number of bytes that one call of ``systemFillRandomly(_:)`` fills.
let systemRandomLimit = 256

/// Fills memory with unpredictable bytes from the system (`getentropy`). Returns false if the system call failed.
func systemFillRandomly(_ bytes: UnsafeMutableRawBufferPointer) -> Bool {
    guard let start = bytes.baseAddress else { return true }
    return getentropy(start, bytes.count) == 0
}

func systemWallSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func systemTimeSinceBoot() -> Duration {
    #if canImport(Darwin)
        // On Darwin, this clock includes suspension.
        let clock = CLOCK_MONOTONIC
    #else
        let clock = CLOCK_BOOTTIME
    #endif
    var time = timespec()
    clock_gettime(clock, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

func systemPause(nanoseconds: Int64) {
    var wanted = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    var left = timespec()
    while nanosleep(&wanted, &left) != 0 && errno == EINTR { wanted = left }
}

#if canImport(Darwin)
    private let isSecurelyExecuted = issetugid() != 0
#else
    /// The function `getauxval` of the C library. Swift's module of the C library does not include its header.
    @_silgen_name("getauxval") private func auxiliaryValue(_ type: UInt) -> UInt

    /// Whether the program has rights that the user who started it does not have (`AT_SECURE`, 23). Its file is then
    /// set-user-ID or has capabilities, and that user may have chosen its environment for an attack.
    /// Reason: "Variables are trusted, and their paths are checked" in Docs/Decisions/Files.md.
    private let isSecurelyExecuted = auxiliaryValue(23) != 0
#endif

/// Returns the current value of an environment variable; nil if it is unset or empty. Also returns nil in a
/// set-user-ID program or one with capabilities: see `isSecurelyExecuted`.
package func systemEnvironmentVariable(_ name: String) -> String? {
    guard !isSecurelyExecuted, let text = getenv(name).map({ String(cString: $0) }), !text.isEmpty else { return nil }
    return text
}

extension HostFacts {
    /// Reads the facts about this process from the machine. A change of a variable changes no facts that were read before, so that all paths
    /// of a program stay the same.
    package static func current() -> HostFacts {
        var environment: [String: String] = [:]
        for name in variables { environment[name] = systemEnvironmentVariable(name) }
        return HostFacts(bootID: systemBootID, processID: getpid(), environment: environment, executableName: executableName)
    }

    private static let variables = [
        "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "STATE_DIRECTORY", "CACHE_DIRECTORY",
        "CREDENTIALS_DIRECTORY",
    ]
    private static let executableName = lastComponent(of: CommandLine.arguments.first ?? "program")

    /// The boot ID of the machine. It stays the same as long as this process runs, so it is read once.
    private static let systemBootID = {
        let file = (try? PosixFileSystem().read("/proc/sys/kernel/random/boot_id")) ?? nil
        return file.map { String(decoding: $0.bytes, as: UTF8.self).filter { !$0.isWhitespace } }
    }()
}
