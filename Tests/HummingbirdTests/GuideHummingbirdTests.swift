#if Hummingbird
    import Foundation
    import Hummingbird
    import HummingbirdTesting
    import LocalData
    import LocalDataHummingbird
    import TestSupport
    import Testing

    /// The sample of the guide.
    @Suite("Guide: sessions of Hummingbird")
    struct GuideHummingbirdTests {
        @Test("the application of the guide finds the user of a session")
        func application() async throws {
            // snippet.hide
            let configuration = StorageConfiguration.inMemory()
            // snippet.show
            struct Session: Codable { var user: String }

            let storage = StorageRouter(configuration: configuration)
            let sessions = StoragePersistDriver(storage)
            let router = Router()
            router.post("login/:user") { _, context -> Response in
                let session = Session(user: try context.parameters.require("user"))  // check a password here
                let id = UUID().uuidString
                try await sessions.create(key: id, value: session, expires: .seconds(3_600))
                var response = Response(status: .ok)
                response.setCookie(Cookie(name: "session", value: id, secure: true, sameSite: .strict))
                return response
            }
            router.get("user") { request, _ -> String? in
                guard let id = request.cookies["session"]?.value else { return nil }
                return try await sessions.get(key: id, as: Session.self)?.user
            }
            let app = Application(router: router, services: [sessions])
            // snippet.hide
            try await app.test(.router) { client in
                let login = try await client.execute(uri: "/login/kari", method: .post)
                let cookie = try #require(login.headers[.setCookie]?.split(separator: ";").first)
                let known = try await client.execute(uri: "/user", method: .get, headers: [.cookie: String(cookie)])
                #expect(String(buffer: known.body) == "kari")
                let unknown = try await client.execute(uri: "/user", method: .get, headers: [.cookie: "session=guess"])
                #expect(unknown.status == .noContent)
            }
        }
    }
#endif
