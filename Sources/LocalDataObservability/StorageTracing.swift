#if Observability
    public import LocalData
    public import Tracing

    /// Makes a span of swift-distributed-tracing for each call of a router.
    ///
    /// Use it to see the calls of the storage inside the traces of requests.
    ///
    /// ```swift
    /// configuration.instruments.append(StorageTracing())  // makes spans with the tracer that the program bootstrapped
    /// ```
    ///
    /// The span `localdata.get` is named after the call, and is a child of the current span. Its attributes are
    /// `localdata.domain`, the kind of store, and after an error `error.type`, the code of the error. The error itself
    /// is not recorded, because its message contains the name of a key.
    public struct StorageTracing: StorageInstrument {
        private let tracer: (any Tracer)?

        /// Creates the instrument.
        /// - Parameter tracer: The tracer; nil for the one that the program bootstrapped.
        public init(tracer: (any Tracer)? = nil) { self.tracer = tracer }

        /// Runs a call in a span.
        public func observe<R>(_ operation: StorageOperation, _ body: () async throws -> R) async throws -> R {
            // The span would record an error that it sees, with its message.
            let result: Result<R, any Error> = await (tracer ?? InstrumentationSystem.tracer).withAnySpan(
                "localdata.\(operation.name)", ofKind: .internal
            ) { span in
                if let domain = operation.domain { span.attributes["localdata.domain"] = domain.name }
                do { return .success(try await body()) } catch {
                    let code = (error as? StorageError)?.code.name ?? "other"
                    span.attributes["error.type"] = code
                    span.setStatus(SpanStatus(code: .error, message: code))
                    return .failure(error)
                }
            }
            return try result.get()
        }

        /// Does nothing: an event belongs to no span.
        public func record(_ event: StorageEvent) {}
    }
#endif
