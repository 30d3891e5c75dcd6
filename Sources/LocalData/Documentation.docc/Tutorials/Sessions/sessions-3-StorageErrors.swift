import Hummingbird
import LocalData

/// Answers an error of the storage with 503 if the client can try again, and otherwise with 500.
struct StorageErrors<Context: RequestContext>: RouterMiddleware {
    private let temporary: [StorageError.Code] = [.unavailable, .locked, .timedOut, .conflict, .shutDown]

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do { return try await next(request, context) } catch let error as StorageError {
            // The code contains no value and no name.
            context.logger.error("The storage refused a call.", metadata: ["code": "\(error.code)"])
            throw HTTPError(temporary.contains(error.code) ? .serviceUnavailable : .internalServerError)
        }
    }
}
