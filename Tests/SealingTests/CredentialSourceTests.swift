import BackendContract
import BackendRuntime
import Foundation
import Sealing
import TestSupport
import Testing

/// Tests of keys that systemd or Kubernetes provides, in the file layouts that they use.
@Suite(.inTurn) struct CredentialSourceTests {
    private let bench: KeySourceBench

    init() throws { bench = try KeySourceBench() }

    private func source(_ name: String = "vault", environment: [String: String]) throws(BackendError) -> CredentialSource {
        var runtime = Runtime.live
        runtime.host.environment = environment
        return try CredentialSource(name: name, deadline: bench.deadline, runtime: runtime)
    }

    private func source(_ name: String = "vault", in directory: String) throws(BackendError) -> CredentialSource {
        try source(name, environment: ["CREDENTIALS_DIRECTORY": directory])
    }

    @Test func `a credential that systemd-creds encrypted and decrypted is read as the key that was stored in it`() async throws {
        // systemd-creds uses a host key in the test's folder.
        // It decrypts into a folder, as systemd does for `LoadCredentialEncrypted=`.
        let environment = ["SYSTEMD_CREDENTIAL_SECRET": bench.folder.file("host-key"), "PATH": "/usr/bin:/bin"]
        try writeFile("\(bench.key.text)\n".utf8, to: bench.folder.file("plain"))
        let sealed = bench.folder.file("vault.cred")
        let encrypted = try await run(
            "systemd-creds", ["encrypt", "--with-key=host", "--name=vault", bench.folder.file("plain"), sealed], environment: environment)
        #expect(encrypted.status == 0, "\(encrypted.stderr)")
        #expect(try !String(decoding: fileBytes(sealed), as: UTF8.self).contains("LocalData-key"))
        let directory = try bench.folder.folder("credentials")
        let decrypted = try await run(
            "systemd-creds", ["decrypt", "--name=vault", sealed, "\(directory)/vault"], environment: environment)
        #expect(decrypted.status == 0, "\(decrypted.stderr)")
        try setPermissions(0o400, of: "\(directory)/vault")
        #expect(try await bench.key.isSame(as: source(in: directory).load()?.current))
    }

    @Test(arguments: [0o400, 0o440, 0o444, 0o600, 0o644])
    func `a secret is read through the symbolic links of a Kubernetes mount, also after Kubernetes has updated it`(
        permissions: Int
    ) async throws {
        let mount = try bench.folder.folder("mount")
        try setPermissions(0o1777, of: mount)
        let files = FileManager.default
        for (version, key) in [("..2026_11_20_10_00_00.1", bench.key), ("..2026_11_21_10_00_00.2", bench.otherKey)] {
            try files.createDirectory(atPath: "\(mount)/\(version)", withIntermediateDirectories: false)
            try writeFile(key.text.utf8, to: "\(mount)/\(version)/vault", permissions: permissions)
            try? files.removeItem(atPath: "\(mount)/..data")
            try files.createSymbolicLink(atPath: "\(mount)/..data", withDestinationPath: version)
            if (try? files.destinationOfSymbolicLink(atPath: "\(mount)/vault")) == nil {
                try files.createSymbolicLink(atPath: "\(mount)/vault", withDestinationPath: "..data/vault")
            }
            #expect(try await key.isSame(as: source(in: mount).load()?.current))
        }
    }

    @Test func `an explicit folder takes precedence over the environment`() async throws {
        try writeFile(bench.key.text.utf8, to: bench.folder.file("vault"))
        var runtime = Runtime.live
        runtime.host.environment = ["CREDENTIALS_DIRECTORY": "/nonexistent"]
        let source = try CredentialSource(name: "vault", directory: bench.folder.path, deadline: bench.deadline, runtime: runtime)
        #expect(try await bench.key.isSame(as: source.load()?.current))
        #expect(source.pin == "credential vault")
        #expect(source.protection == .sealed)
    }

    @Test(arguments: [[:], ["CREDENTIALS_DIRECTORY": ""], ["CREDENTIALS_DIRECTORY": "relative/folder"]])
    func `without a folder the source is unavailable, and the error says what to set`(environment: [String: String]) async throws {
        let source = try source(environment: environment)
        let error = try await #require(throws: BackendError.self) { try await source.load() }
        #expect(error.code == .unavailable)
        #expect(error.reason.contains("CREDENTIALS_DIRECTORY") && error.reason.contains("LoadCredential=vault"))
    }

    @Test func `a missing folder is unavailable, not an absent key`() async throws {
        let source = try source(in: bench.folder.file("unmounted"))
        #expect(await code { () throws(BackendError) in try await source.load() } == .unavailable)
    }

    @Test func `a missing credential counts as no key, and creating one is refused`() async throws {
        let source = try source(in: bench.folder.path)
        #expect(try await source.load() == nil)
        let error = try await #require(throws: BackendError.self) { try await source.create(SourceKeys(only: bench.key)) }
        #expect(error.code == .encryptionKeyMissing)
        #expect(error.reason.contains("systemd-creds encrypt --name=vault"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).isEmpty)
    }

    @Test(arguments: foreignTexts)
    func `a file with content other than a key is reported as a key mismatch`(text: String) async throws {
        try writeFile(text.utf8, to: bench.folder.file("vault"))
        let source = try source(in: bench.folder.path)
        #expect(await code { () throws(BackendError) in try await source.load() } == .encryptionKeyMismatch)
    }

    @Test(arguments: [0o602, 0o406, 0o666, 0o777])
    func `a credential that other users can write is refused`(permissions: Int) async throws {
        try writeFile(bench.key.text.utf8, to: bench.folder.file("vault"), permissions: permissions)
        let source = try source(in: bench.folder.path)
        #expect(await code { () throws(BackendError) in try await source.load() } == .untrusted)
    }

    @Test func `a credential in a folder that other users can write is refused`() async throws {
        let directory = try bench.folder.folder("credentials")
        try writeFile(bench.key.text.utf8, to: "\(directory)/vault", permissions: 0o400)
        let source = try source(in: directory)
        #expect(try await bench.key.isSame(as: source.load()?.current))
        try setPermissions(0o777, of: directory)
        #expect(await code { () throws(BackendError) in try await source.load() } == .untrusted)
    }

    @Test(.enabled(if: geteuid() == 0, "changes owners")) func `a credential of another user is refused`() async throws {
        let path = bench.folder.file("vault")
        try writeFile(bench.key.text.utf8, to: path, permissions: 0o400)
        #expect(chown(path, 65_534, 65_534) == 0)
        let source = try source(in: bench.folder.path)
        let error = try await #require(throws: BackendError.self) { try await source.load() }
        #expect(error.code == .untrusted && error.reason.contains(path))
    }

    @Test(arguments: ["", ".", "..", "..data", "a/b", "/etc/passwd", "../vault", "a\u{0}b", "a\nb", String(repeating: "a", count: 256)])
    func `a name that is empty, too long or a path is refused`(name: String) {
        let error = #expect(throws: BackendError.self) { try source(name, in: bench.folder.path) }
        #expect(error?.code == .invalidName)
    }

    @Test func `a dump shows neither the key nor the environment`() async throws {
        try writeFile(bench.key.text.utf8, to: bench.folder.file("vault"))
        let source = try source(environment: ["CREDENTIALS_DIRECTORY": bench.folder.path, "TOKEN": "hunter2"])
        let key = try #require(try await source.load()).current
        var text = "\(source)\(String(reflecting: source))\(key)"
        dump(source, to: &text)
        dump(key, to: &text)
        dump(KeyFileSource(path: bench.folder.file("vault"), deadline: bench.deadline, runtime: .live), to: &text)
        for secret in ["hunter2", "p6enp6en", "PATH"] { #expect(!text.contains(secret)) }
        #expect(text.contains("vault") && text.contains(hexadecimalText(of: bench.key.id)))
    }
}
