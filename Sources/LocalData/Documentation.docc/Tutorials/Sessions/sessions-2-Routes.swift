import Hummingbird
import LocalData
import LocalDataHummingbird

struct Session: Codable, Sendable {
    var user: String
}

/// Returns the HTTP interface. It answers a change when the change is durable.
func makeRouter(_ storage: StorageRouter, _ sessions: StoragePersistDriver) -> Router<BasicRequestContext> {
    let router = Router()
    router.get("health") { _, _ -> String in "ok" }

    // A real server checks a password first, and creates a random id.
    router.put("sessions/:id") { request, context -> HTTPResponse.Status in
        let id = try context.parameters.require("id")
        let user = String(buffer: try await request.body.collect(upTo: 1_000))
        try await sessions.create(key: id, value: Session(user: user), expires: .seconds(3_600))
        return .created
    }
    router.get("sessions/:id") { _, context -> String in
        let id = try context.parameters.require("id")
        guard let session = try await sessions.get(key: id, as: Session.self) else { throw HTTPError(.notFound) }
        return session.user
    }
    router.delete("sessions/:id") { _, context -> HTTPResponse.Status in
        try await sessions.remove(key: try context.parameters.require("id"))
        return .noContent
    }
    return router
}
