#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The kind of a failed system call.
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

/// How many bytes one call of ``systemFillRandomly(_:)`` fills at most.
let systemRandomLimit = 256

/// Fills memory with unpredictable bytes of the system's (`getentropy`). Returns whether it could.
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
        // There it counts the time that the machine slept.
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
    /// `getauxval` of the C library, whose header Swift's module of it leaves out.
    @_silgen_name("getauxval") private func auxiliaryValue(_ type: UInt) -> UInt

    /// Whether the program has rights that whoever started it does not have: its file is set-user-id or has capabilities (`AT_SECURE`, 23),
    /// so its environment was chosen by somebody else.
    private let isSecurelyExecuted = auxiliaryValue(23) != 0
#endif

/// An environment variable as it is now; nil where it is not set or empty, and in a program with rights that whoever started it does not
/// have.
package func systemEnvironmentVariable(_ name: String) -> String? {
    guard !isSecurelyExecuted, let text = getenv(name).map({ String(cString: $0) }), !text.isEmpty else { return nil }
    return text
}

extension HostFacts {
    /// The facts about this process, read from the machine.
    package static func current() -> HostFacts {
        var environment: [String: String] = [:]
        #if canImport(Darwin)
            var entry: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = _NSGetEnviron().pointee
        #else
            var entry: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = environ
        #endif
        while let text = entry?.pointee {
            let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, !isSecurelyExecuted { environment[String(parts[0])] = String(parts[1]) }
            entry = entry?.advanced(by: 1)
        }
        let bootFile = try? PosixFileSystem().read("/proc/sys/kernel/random/boot_id")
        return HostFacts(
            bootID: bootFile.map { String(decoding: $0.bytes, as: UTF8.self).filter { !$0.isWhitespace } }, processID: getpid(),
            environment: environment, executableName: lastComponent(of: CommandLine.arguments.first ?? "program"),
            homeDirectory: environment["HOME"])
    }
}
