#if PostgreSQL && os(Linux)
    import BackendContract
    import Foundation
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests of encrypted connections, with certificates of an issuer that the tests make.
    @Suite(.slow("starts servers"), .timeLimit(.minutes(10))) struct EncryptionTests {
        private let address = StorageAddress("token")

        /// Makes an issuer and a certificate for `db.test`.
        /// - Parameter days: For how many days from now the certificate is valid; a negative number for an expired one.
        private func makeCertificate(in folder: TemporaryDirectory, days: Int) async throws {
            let script = """
                cd "\(folder.path)" && exec 2>&1 &&
                openssl req -x509 -newkey rsa:2048 -nodes -keyout issuer.key -out issuer.crt -subj /CN=issuer -days 30 &&
                openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=db.test &&
                printf 'subjectAltName=DNS:db.test' > names &&
                openssl x509 -req -in server.csr -CA issuer.crt -CAkey issuer.key -CAcreateserial -days \(days) -out server.crt -extfile names
                """
            let made = try await run("sh", ["-c", script])
            guard made.status == 0 else { throw ProgramFailure("openssl: \(made.stdout)") }
            if geteuid() == 0 { for name in ["", "server.key", "server.crt"] { chown(folder.file(name), 65_534, 65_534) } }
        }

        private func server(with folder: TemporaryDirectory) async throws -> PrivatePostgreSQL {
            try await PrivatePostgreSQL(
                ["ssl=on", "ssl_cert_file=\(folder.file("server.crt"))", "ssl_key_file=\(folder.file("server.key"))"], listens: true)
        }

        /// Returns the connection string for a host name. Linux connects to this machine, but the address is none of the
        /// loopback interface.
        private func conninfo(_ server: PrivatePostgreSQL, host: String, _ folder: TemporaryDirectory, more: String = "") throws -> String {
            let port = try #require(server.port)
            return "host=\(host) hostaddr=0.0.0.0 port=\(port) user=owner dbname=postgres sslrootcert=\(folder.file("issuer.crt")) \(more)"
        }

        @Test func `a certificate of the issuer with the host's name is accepted, and the connection is encrypted`() async throws {
            let folder = try TemporaryDirectory()
            try await makeCertificate(in: folder, days: 30)
            let place = try await TestDatabase(on: server(with: folder))
            try await place.server.addAccessRule("hostssl all all 0.0.0.0/0 trust")
            let store = place.store(try conninfo(place.server, host: "db.test", folder, more: "sslmode=disable"))
            let result = try await store.apply(.put(.bytes([1]), at: address))
            #expect(result.isApplied, "\(result)")
            let connections = try await place.server.sql(
                "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'localdata'")
            #expect(connections == ["t"])
        }

        @Test(arguments: [(-1, "db.test"), (30, "other.test")])
        func `an expired certificate and one of another host are refused`(_ days: Int, _ host: String) async throws {
            let folder = try TemporaryDirectory()
            try await makeCertificate(in: folder, days: days)
            let place = try await TestDatabase(on: server(with: folder))
            let store = place.store(try conninfo(place.server, host: host, folder))
            guard case .failed(let error) = try await store.apply(.put(.bytes([1]), at: address)) else {
                Issue.record("the certificate was accepted")
                return
            }
            #expect(error.code == .untrusted && error.outcome == .notApplied && error.reason.contains("renew"), "\(error)")
        }
    }
#endif
