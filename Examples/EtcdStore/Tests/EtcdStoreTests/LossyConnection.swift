import GRPCCore
import Synchronization

/// A loss on a connection.
enum Loss: Sendable {
    /// The cluster carries the request out, and its answer is lost.
    case answer
    /// The request is lost after it was handed to the connection.
    case request
}

/// A connection that loses something in its first transactions, one loss in each, or in all.
final class LossyConnection: ClientInterceptor {
    private let losses: Mutex<[Loss]>

    private let last: Loss?

    /// Creates a connection.
    /// - Parameters:
    ///   - losses: The losses in the first transactions.
    ///   - last: The loss in each later transaction; nil for none.
    init(_ losses: [Loss], thenAll last: Loss? = nil) {
        self.losses = Mutex(losses)
        self.last = last
    }

    /// Whether all losses have occurred.
    var isSpent: Bool { losses.withLock { $0.isEmpty } }

    func intercept<Input: Sendable, Output: Sendable>(
        request: StreamingClientRequest<Input>, context: ClientContext,
        next: (StreamingClientRequest<Input>, ClientContext) async throws -> StreamingClientResponse<Output>
    ) async throws -> StreamingClientResponse<Output> {
        guard context.descriptor.method == "Txn", let loss = losses.withLock({ $0.isEmpty ? last : $0.removeFirst() }) else {
            return try await next(request, context)
        }
        switch loss {
        case .answer: _ = try await next(request, context)
        case .request: try await request.producer(RPCWriter(wrapping: Nowhere()))
        }
        throw RPCError(code: .unavailable, message: "The connection was lost.")
    }
}

/// A writer that drops everything.
private struct Nowhere<Element: Sendable>: RPCWriterProtocol {
    func write(_ element: Element) async throws {}

    func write(contentsOf elements: some Sequence<Element>) async throws {}
}
