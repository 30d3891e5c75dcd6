import Hummingbird
import LocalData
import Logging

/// Returns the HTTP interface of a store. It answers 201 or 204 when the change is durable.
///
/// A real server creates the ids of its sessions itself, at random, and checks a password first. Here the client chooses
/// them, so that it can count.
func makeRouter(_ store: any SessionStore) -> Router<BasicRequestContext> {
    let router = Router()
    router.add(middleware: StorageErrors())

    router.put("sessions/:id") { request, context -> HTTPResponse.Status in
        let isNew = try await store.create(try context.name("id"), user: try await request.text())
        return isNew ? .created : .conflict
    }
    router.get("sessions/:id") { _, context -> String in
        guard let user = try await store.user(of: try context.name("id")) else { throw HTTPError(.notFound) }
        return user
    }
    router.delete("sessions/:id") { _, context -> HTTPResponse.Status in
        try await store.end(try context.name("id"))
        return .noContent
    }

    router.put("tokens/:user") { request, context -> HTTPResponse.Status in
        try await store.set(token: try await request.text(), of: try context.name("user"))
        return .noContent
    }
    router.get("tokens/:user") { _, context -> String in
        guard let token = try await store.token(of: try context.name("user")) else { throw HTTPError(.notFound) }
        return token
    }
    router.delete("tokens/:user") { _, context -> HTTPResponse.Status in
        try await store.removeToken(of: try context.name("user"))
        return .noContent
    }

    router.get("health") { _, _ -> EditedResponse<HealthReport> in
        let health = await store.health()
        let status: HTTPResponse.Status = health.isHealthy ? .ok : .serviceUnavailable
        return EditedResponse(status: status, response: health)
    }
    return router
}

extension BasicRequestContext {
    /// Returns a part of the path that is a valid name: 1 to 100 letters, digits and the characters `-`, `_` and `.`.
    /// - Throws: `HTTPError` with 400 for other names.
    fileprivate func name(_ parameter: String) throws -> String {
        let name = try parameters.require(parameter)
        let isValid = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
            default: false
            }
        }
        guard isValid, (1...100).contains(name.utf8.count) else {
            throw HTTPError(.badRequest, message: "A name has 1 to 100 letters, digits and the characters - _ .")
        }
        return name
    }
}

extension Request {
    /// Returns the body.
    /// - Throws: `HTTPError` with 400 for an empty body, and an error with 413 for one of more than 4,096 bytes.
    fileprivate func text() async throws -> String {
        let text = String(buffer: try await body.collect(upTo: 4_096))
        guard !text.isEmpty else { throw HTTPError(.badRequest, message: "The body is empty.") }
        return text
    }
}

/// Answers an error of the storage with 503 if the client can try again, and otherwise with 500.
///
/// The outcome of a change that ended with an error may be unknown: see `StorageError.outcome`.
struct StorageErrors<Context: RequestContext>: RouterMiddleware {
    private let temporary: [StorageError.Code] = [.unavailable, .locked, .timedOut, .conflict, .shutDown]

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do { return try await next(request, context) } catch let error as StorageError {
            // The message of the error names a user.
            context.logger.error("The storage refused a call.", metadata: ["code": "\(error.code)"])
            throw HTTPError(temporary.contains(error.code) ? .serviceUnavailable : .internalServerError)
        }
    }
}
