import Hummingbird
import HummingbirdTesting
import LocalDataHummingbird
import LocalDataTesting
import Testing

@testable import Sessions

@Test func `a session and a token survive a power cut, and a session ends for good`() async throws {
    let machine = TestMachine()

    /// Launches the server on the machine, and sends it requests.
    func launch(_ requests: @Sendable (any TestClientProtocol) async throws -> Void) async throws {
        let storage = machine.launch()
        let router = makeRouter(storage, StoragePersistDriver(storage))
        try await Application(router: router).test(.router, requests)
    }

    try await launch { client in
        let session = try await client.execute(uri: "/sessions/a", method: .put, body: ByteBuffer(string: "kari"))
        #expect(session.status == .created)
        let token = try await client.execute(uri: "/tokens/kari", method: .put, body: ByteBuffer(string: "t-1"))
        #expect(token.status == .noContent)
    }
    machine.cut()  // the power fails
    try await launch { client in
        let session = try await client.execute(uri: "/sessions/a", method: .get)
        #expect(String(buffer: session.body) == "kari")
        let token = try await client.execute(uri: "/tokens/kari", method: .get)
        #expect(String(buffer: token.body) == "t-1")
        let ended = try await client.execute(uri: "/sessions/a", method: .delete)
        #expect(ended.status == .noContent)
    }
    machine.cut()
    try await launch { client in
        let session = try await client.execute(uri: "/sessions/a", method: .get)
        #expect(session.status == .notFound)
    }
}
