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

    // snippet.show
    /// The samples of the driver's doc comments. They are compiled, and not run.
    enum PersistDriverSamples {
        struct Session: Codable { var user: String }

        static func driver(_ storage: StorageRouter, _ router: Router<BasicRequestContext>, _ sessionID: String) async throws {
            let sessions = StoragePersistDriver(storage)
            try await sessions.create(key: sessionID, value: Session(user: "kari"), expires: .seconds(3_600))
            let app = Application(router: router, services: [sessions])  // also purges expired sessions
            _ = app
        }

        static func calls(_ sessions: StoragePersistDriver, _ sessionID: String) async throws {
            do {
                try await sessions.create(key: sessionID, value: Session(user: "kari"), expires: .seconds(3_600))
            } catch let error as PersistError where error == .duplicate {
                print("Another request has created this session.")
            }
            try await sessions.set(key: sessionID, value: Session(user: "kari"), expires: .seconds(3_600))
            do {
                print(try await sessions.get(key: sessionID, as: Session.self)?.user ?? "There is no session.")
            } catch let error as PersistError where error == .invalidConversion {
                print("Another type is stored under this key.")
            }
            if let found = try await sessions.getWithTTL(key: sessionID, as: Session.self) {
                print(found.object.user, found.ttl.map { "expires in \($0)" } ?? "never expires")
            }
            try await sessions.remove(key: sessionID)  // does nothing if there is no session
            print(try await sessions.tidy(), "expired sessions were purged")
        }

        struct ServerKeys: StorageKeyCatalog {
            let sessions: StoragePersistDriver
            var allKeys: [AnyStorageKey] { [sessions.catalogEntry] }
        }
    }
#endif
