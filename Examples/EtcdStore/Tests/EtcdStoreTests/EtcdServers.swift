import BackendContract
import EtcdStore
import Foundation
import GRPCCore
import Synchronization

/// Three members of an etcd cluster on the loopback interface, each a separate process. They end with the object, and with the tests.
///
/// If the tests run as root, the members run as the user 65534.
final class EtcdServers: Sendable {
    /// The addresses of the members for clients.
    let members: [EtcdCluster.Member]
    private let peers: [Int]
    private let folder: URL
    private let processes = Mutex<[Int: MemberProcess]>([:])

    /// The servers of the tests that kill no member.
    static let whole = Task { try await EtcdServers.started() }

    /// Servers of which one member was killed.
    static let wounded = Task {
        let servers = try await EtcdServers.started()
        await servers.kill(0)
        try await servers.awaitMajority()
        return servers
    }

    /// Starts three members, and waits until they have a leader.
    static func started() async throws -> EtcdServers {
        let servers = try EtcdServers()
        for index in servers.members.indices { try await servers.start(index) }
        try await servers.awaitMajority()
        return servers
    }

    private init() throws {
        let ports = try Self.freePorts(6)
        members = ports[..<3].map { EtcdCluster.Member("127.0.0.1", port: $0) }
        peers = Array(ports[3...])
        folder = FileManager.default.temporaryDirectory.appending(path: "etcd-store-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        if geteuid() == 0 { chown(folder.path, 65_534, 65_534) }
        Self.folders.withLock { $0.append(folder) }
        atexit { EtcdServers.removeFolders() }
    }

    private static let folders = Mutex<[URL]>([])

    private static func removeFolders() {
        for folder in folders.withLock({ $0 }) { try? FileManager.default.removeItem(at: folder) }
    }

    /// Starts a member for the first time, or again.
    func start(_ index: Int) async throws {
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/etcd") else { throw TestFailure("Run apt-get install etcd-server.") }
        let (client, peer) = ("http://\(members[index])", "http://127.0.0.1:\(peers[index])")
        let all = peers.enumerated().map { "member-\($0)=http://127.0.0.1:\($1)" }.joined(separator: ",")
        let user = geteuid() == 0 ? ["--reuid", "65534", "--regid", "65534", "--clear-groups"] : []
        let options = [
            "--name", "member-\(index)", "--data-dir", folder.appending(path: "\(index)").path, "--listen-client-urls", client,
            "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", all,
            "--initial-cluster-token", folder.lastPathComponent, "--logger", "zap", "--log-level", "error",
        ]
        let process = MemberProcess()
        try await process.start(user + ["--pdeathsig", "KILL", "/usr/bin/etcd"] + options)
        processes.withLock { $0[index] = process }
    }

    /// Kills a member with SIGKILL, and waits until it has ended.
    func kill(_ index: Int) async { await processes.withLock { $0.removeValue(forKey: index) }?.kill() }

    /// Stops all members with SIGSTOP. They keep their connections, and do not answer.
    func stop() { processes.withLock { for process in $0.values { process.stop() } } }

    /// Returns new connections to the members.
    func cluster(deadline: Duration = .seconds(60), interceptors: [any ClientInterceptor] = []) -> EtcdCluster {
        EtcdCluster(members, interceptors: interceptors, deadline: deadline)
    }

    /// Waits until a majority answers.
    /// - Parameter index: The member to ask; nil for all one after the other.
    func awaitMajority(through index: Int? = nil) async throws {
        let cluster = EtcdCluster(index.map { [members[$0]] } ?? members, deadline: .seconds(60))
        let status = await EtcdStore(cluster, context: "status").status()
        guard status == .ready else { throw TestFailure("The members have no majority: \(status)") }
    }

    /// Returns ports that no process uses. They are below the range from which Linux takes the ports of outgoing connections, so that a
    /// member can be started again. Another server may take them before they are used here.
    private static func freePorts(_ count: Int) throws -> [Int] {
        var sockets: [Int32] = []
        defer { for socket in sockets { close(socket) } }
        var ports: [Int] = []
        for port in (10_000..<32_768).shuffled() where ports.count < count {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            sockets.append(descriptor)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
            address.sin_port = UInt16(port).bigEndian
            let isFree = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            if isFree { ports.append(port) }
        }
        guard ports.count == count else { throw TestFailure("There are no free ports.") }
        return ports
    }
}

/// An error of the setup of a test.
struct TestFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The process of a member.
private final class MemberProcess: Sendable {
    private let process = Process()
    private let ended: AsyncStream<Void>

    init() {
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        self.ended = ended
        process.terminationHandler = { _ in end.finish() }
    }

    func start(_ arguments: [String]) async throws {
        process.executableURL = URL(filePath: "/usr/bin/setpriv")
        process.arguments = arguments
        process.environment = ["PATH": "/usr/bin:/bin"]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try await ProcessThread.shared.run { [process] in try process.run() }
    }

    func stop() { Foundation.kill(process.processIdentifier, SIGSTOP) }

    func kill() async {
        Foundation.kill(process.processIdentifier, SIGKILL)
        for await _ in ended {}
    }

    deinit { if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) } }
}

/// A thread that never ends. A member ends with the thread that has started it (`setpriv --pdeathsig`), so no other thread starts members.
private final class ProcessThread: Sendable {
    static let shared = ProcessThread()

    private let jobs = Mutex<[@Sendable () -> Void]>([])
    private let count = DispatchSemaphore(value: 0)

    private init() {
        Thread.detachNewThread { [self] in
            while true {
                count.wait()
                let job = jobs.withLock { $0.removeFirst() }
                job()
            }
        }
    }

    func run(_ job: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            jobs.withLock { $0.append { continuation.resume(with: Result { try job() }) } }
            count.signal()
        }
    }
}
