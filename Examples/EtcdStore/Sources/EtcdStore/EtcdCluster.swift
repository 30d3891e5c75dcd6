import BackendContract
public import GRPCCore
public import GRPCNIOTransportHTTP2Posix
import GRPCProtobuf
import SwiftProtobuf
import Synchronization

/// The connections to the members of an etcd cluster. Several stores can share them.
///
/// ```swift
/// let cluster = EtcdCluster([.init("10.0.0.1"), .init("10.0.0.2"), .init("10.0.0.3")])
/// let store = EtcdStore(cluster, context: "orders")
/// ```
///
/// A call uses one member, and the next member if that one fails. A connection is opened by the first call that needs it.
public final class EtcdCluster: Sendable {
    /// The address of a member for clients.
    public struct Member: Hashable, Sendable, CustomStringConvertible {
        /// The name or IPv4 address of the machine.
        public let host: String
        /// The port for clients.
        public let port: Int

        /// Creates an address.
        public init(_ host: String, port: Int = 2_379) { (self.host, self.port) = (host, port) }

        /// The host and the port, separated by a colon.
        public var description: String { "\(host):\(port)" }
    }

    /// The members that calls use. They must belong to one cluster.
    public let members: [Member]
    /// The beginning of all keys in the cluster.
    public let prefix: String
    /// How long a call may take.
    public let deadline: Duration
    /// The maximum number of operations in a transaction, which the members' option `--max-txn-ops` sets.
    public let maximumOperations: Int

    private let security: HTTP2ClientTransport.Posix.TransportSecurity
    private let interceptors: [any ClientInterceptor]
    private let state = Mutex(State())

    private struct State {
        var links: [Int: Link] = [:]
        /// The index of the member that the next call uses.
        var preferred = 0
        /// The cluster that answered first.
        var clusterID: UInt64?
        var lease: Lease?
    }

    private struct Lease {
        let id: Int64
        /// The time until which this program attaches marks to the lease.
        let end: ContinuousClock.Instant
    }

    /// The maximum size of a request in bytes: the default of the members' option `--max-request-bytes`.
    static let maximumRequestSize = 1_572_864

    /// The maximum size of an answer in bytes. A transaction can read many large values.
    private static let maximumAnswerSize = 512 << 20

    /// With this metadata, a member that has no contact to a leader refuses a call at once.
    private static let metadata: Metadata = ["hasleader": "true"]

    /// Creates the connections. Opens none of them.
    /// - Parameters:
    ///   - members: The members; at least one.
    ///   - prefix: The beginning of all keys. Programs with different prefixes share no data.
    ///   - security: Whether and how the connections are encrypted.
    ///   - interceptors: Interceptors of every call, for example to add the token of a user.
    ///   - deadline: How long a call may take.
    ///   - maximumOperations: The value of the members' option `--max-txn-ops`.
    public init(
        _ members: [Member], prefix: String = "localdata", security: HTTP2ClientTransport.Posix.TransportSecurity = .plaintext,
        interceptors: [any ClientInterceptor] = [], deadline: Duration = .seconds(10), maximumOperations: Int = 128
    ) {
        precondition(!members.isEmpty, "A cluster has at least one member.")
        (self.members, self.prefix, self.security, self.interceptors) = (members, prefix, security, interceptors)
        (self.deadline, self.maximumOperations) = (deadline, maximumOperations)
    }

    /// Closes the connections. Calls in progress are finished, and later calls open new connections.
    public func close() {
        let links = state.withLock { state in
            let links = state.links
            state.links = [:]
            return links
        }
        for link in links.values { link.close() }
    }

    // MARK: Calls

    /// How long one member may take to answer. Shorter than the deadline, so that another member can be asked.
    var patience: Duration { min(deadline / 5, .seconds(2)) }

    /// Returns the deadline of a call that begins now.
    var nextDeadline: ContinuousClock.Instant { .now.advanced(by: deadline) }

    /// Calls a member, and the others one after the other until the call succeeds. For calls that can be repeated without harm.
    /// - Throws: ``EtcdFault``. Its ``EtcdFault/mayHaveEffect`` is false.
    func call<Request: SwiftProtobuf.Message, Answer: EtcdAnswer>(
        _ method: EtcdMethod<Request, Answer>, _ request: Request, until deadline: ContinuousClock.Instant
    ) async throws(EtcdFault) -> Answer {
        var retries = EtcdRetries(deadline)
        while true {
            var fault: EtcdFault
            do throws(EtcdFault) { return try await attempt(method, request, until: deadline) } catch { fault = error }
            fault.mayHaveEffect = false
            try await retries.wait(after: fault)
        }
    }

    /// Calls one member once.
    func attempt<Request: SwiftProtobuf.Message, Answer: EtcdAnswer>(
        _ method: EtcdMethod<Request, Answer>, _ request: Request, until deadline: ContinuousClock.Instant
    ) async throws(EtcdFault) -> Answer {
        let remaining = ContinuousClock.now.duration(to: deadline)
        guard remaining > .zero else { throw EtcdFault.late }
        let (index, client) = try connection()
        var options = CallOptions.defaults
        options.timeout = min(patience, remaining)
        // This version of the transport limits answers by the size for requests.
        options.maxRequestMessageBytes = Self.maximumAnswerSize
        options.maxResponseMessageBytes = Self.maximumAnswerSize
        let sent = RaisedFlag()
        do {
            let answer = try await client.clientStreaming(
                request: StreamingClientRequest(of: Request.self, metadata: Self.metadata) { writer in
                    sent.raise()
                    try await writer.write(request)
                },
                descriptor: method.descriptor, serializer: ProtobufSerializer<Request>(), deserializer: ProtobufDeserializer<Answer>(),
                options: options
            ) { (response: ClientResponse<Answer>) in try response.message }
            try check(answer.header)
            return answer
        } catch {
            let fault = EtcdFault(error, wasSent: sent.isRaised)
            if fault.isTransient { avoid(index) }
            throw fault
        }
    }

    /// Watches keys until the handler returns false, the connection is lost, or the caller is cancelled.
    /// - Parameters:
    ///   - request: The range of keys, and the revision at which the watch begins.
    ///   - handle: Handles an answer, and returns whether the watch continues.
    func watch(_ request: EtcdWatchCreateRequest, _ handle: @escaping @Sendable (EtcdWatchResponse) -> Bool) async throws(EtcdFault) {
        let (index, client) = try connection()
        var options = CallOptions.defaults
        options.maxRequestMessageBytes = Self.maximumAnswerSize
        options.maxResponseMessageBytes = Self.maximumAnswerSize
        let first = EtcdWatchRequest.with { $0.createRequest = request }
        do {
            try await client.bidirectionalStreaming(
                request: StreamingClientRequest(of: EtcdWatchRequest.self, metadata: Self.metadata) { writer in
                    try await writer.write(first)
                    // The request stays open until the answers end, which cancels this task.
                    while true { try await Task.sleep(for: .seconds(3_600)) }
                },
                descriptor: EtcdMethods.watch.descriptor, serializer: ProtobufSerializer<EtcdWatchRequest>(),
                deserializer: ProtobufDeserializer<EtcdWatchResponse>(), options: options
            ) { (response: StreamingClientResponse<EtcdWatchResponse>) in
                for try await answer in response.messages { guard handle(answer) else { return } }
            }
        } catch {
            let fault = EtcdFault(error, wasSent: false)
            if fault.isTransient { avoid(index) }
            throw fault
        }
    }

    private func check(_ header: EtcdResponseHeader) throws(EtcdFault) {
        let isOther = state.withLock { state in
            let known = state.clusterID ?? header.clusterID
            state.clusterID = known
            return known != header.clusterID
        }
        if isOther {
            throw EtcdFault(.refused(.untrusted), "A member belongs to another cluster. Correct the list of members.", mayHaveEffect: true)
        }
    }

    // MARK: Leases

    /// Returns the lease for marks. It lasts several times as long as a call, so a mark outlives the call that wrote it.
    func lease(until deadline: ContinuousClock.Instant) async throws(EtcdFault) -> Int64 {
        let now = ContinuousClock.now
        if let lease = state.withLock({ $0.lease }), now < lease.end { return lease.id }
        let seconds = max(60, 6 * self.deadline.components.seconds)
        let request = EtcdLeaseGrantRequest.with { $0.ttl = seconds }
        let answer = try await call(EtcdMethods.leaseGrant, request, until: deadline)
        let lease = Lease(id: answer.id, end: now.advanced(by: .seconds(seconds / 2)))
        state.withLock { $0.lease = lease }
        return lease.id
    }

    /// Forgets a lease that the cluster does not know any more.
    func forget(lease id: Int64) { state.withLock { if $0.lease?.id == id { $0.lease = nil } } }

    // MARK: Connections

    private func connection() throws(EtcdFault) -> (index: Int, client: Link.Client) {
        do {
            return try state.withLock { state in
                let index = state.preferred
                if let link = state.links[index] { return (index, link.client) }
                let link = try Link(to: members[index], security, interceptors)
                state.links[index] = link
                return (index, link.client)
            }
        } catch { throw EtcdFault(.unreachable, "A connection could not be created.") }
    }

    /// Makes the next call use another member, unless a call has already done so.
    private func avoid(_ index: Int) {
        state.withLock { state in
            if state.preferred == index { state.preferred = (index + 1) % members.count }
        }
    }

    /// A connection to one member, which is opened again when it is lost.
    private final class Link: Sendable {
        typealias Client = GRPCClient<HTTP2ClientTransport.Posix>

        let client: Client

        init(
            to member: Member, _ security: HTTP2ClientTransport.Posix.TransportSecurity, _ interceptors: [any ClientInterceptor]
        ) throws {
            let target: any ResolvableTarget
            if member.host.utf8.allSatisfy({ $0 == UInt8(ascii: ".") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
                target = ResolvableTargets.IPv4.ipv4(address: member.host, port: member.port)
            } else {
                target = ResolvableTargets.DNS(host: member.host, port: member.port)
            }
            let transport = try HTTP2ClientTransport.Posix(
                target: target, transportSecurity: security,
                config: .defaults { config in
                    config.backoff = HTTP2ClientTransport.Config.Backoff(
                        initial: .milliseconds(50), max: .seconds(1), multiplier: 1.6, jitter: 0.2)
                    config.connection.keepalive = HTTP2ClientTransport.Config.Keepalive(
                        time: .seconds(10), timeout: .seconds(5), allowWithoutCalls: false)
                })
            let client = GRPCClient(transport: transport, interceptors: interceptors)
            self.client = client
            Task { try? await client.runConnections() }
        }

        func close() { client.beginGracefulShutdown() }

        deinit { client.beginGracefulShutdown() }
    }
}

/// A method of etcd's interface, with the types of its messages.
struct EtcdMethod<Request: SwiftProtobuf.Message, Answer: SwiftProtobuf.Message>: Sendable {
    let descriptor: MethodDescriptor

    init(_ service: String, _ method: String, _ type: MethodDescriptor.RPCType = .unary) {
        descriptor = MethodDescriptor(fullyQualifiedService: "etcdserverpb.\(service)", method: method, type: type)
    }
}

/// The methods that the store uses.
enum EtcdMethods {
    static let range = EtcdMethod<EtcdRangeRequest, EtcdRangeResponse>("KV", "Range")
    static let transaction = EtcdMethod<EtcdTxnRequest, EtcdTxnResponse>("KV", "Txn")
    static let leaseGrant = EtcdMethod<EtcdLeaseGrantRequest, EtcdLeaseGrantResponse>("Lease", "LeaseGrant")
    static let watch = EtcdMethod<EtcdWatchRequest, EtcdWatchResponse>("Watch", "Watch", .bidirectionalStreaming)
}

/// An answer that names the cluster.
protocol EtcdAnswer: SwiftProtobuf.Message {
    var header: EtcdResponseHeader { get }
}

extension EtcdRangeResponse: EtcdAnswer {}
extension EtcdTxnResponse: EtcdAnswer {}
extension EtcdCompactionResponse: EtcdAnswer {}
extension EtcdLeaseGrantResponse: EtcdAnswer {}

/// Waits between the attempts of a call until its deadline.
struct EtcdRetries {
    private let deadline: ContinuousClock.Instant
    private var pause = Duration.milliseconds(10)
    private var cause: EtcdFault?

    init(_ deadline: ContinuousClock.Instant) { self.deadline = deadline }

    /// Waits before the next attempt.
    /// - Throws: The fault, if another attempt is of no use or the deadline would pass. A member that cannot be reached explains more than
    ///   one that is silent.
    mutating func wait(after fault: EtcdFault) async throws(EtcdFault) {
        guard fault.isTransient else { throw fault }
        if cause == nil || fault.kind == .unreachable { cause = fault }
        guard ContinuousClock.now.advanced(by: pause) < deadline else {
            throw EtcdFault(cause?.kind ?? fault.kind, cause?.message ?? fault.message, mayHaveEffect: fault.mayHaveEffect)
        }
        do { try await Task.sleep(for: pause) } catch {
            throw EtcdFault(.cancelled, "The caller was cancelled.", mayHaveEffect: fault.mayHaveEffect)
        }
        pause = min(pause * 2, .milliseconds(200))
    }
}

/// A flag that is raised once.
private final class RaisedFlag: Sendable {
    private let flag = Atomic(false)

    func raise() { flag.store(true, ordering: .releasing) }

    var isRaised: Bool { flag.load(ordering: .acquiring) }
}
