#if Keyring && os(Linux)
    import BackendContract
    import Foundation
    import KeyringBackend
    import TestSupport
    import Testing

    /// Tests of the protection level that a store derives from the file of its keyring.
    struct KeyringProtectionTests {
        private func protection(_ folder: String?) -> ProtectionLevel {
            SecretServiceStore(service: "any", lockFile: "/nonexistent/lock", keyringsDirectory: folder).capabilities.protection
        }

        @Test func `a collection without a password has no protection`() throws {
            let folder = try TemporaryDirectory()
            #expect(protection(nil) == .keychain)
            #expect(protection(folder.path) == .keychain)
            let plain = "[keyring]\ndisplay-name=Login\nctime=0\nmtime=0\n\n[1]\nsecret=hunter2\n"
            let sealed = Array("GnomeKeyring\n\r\0\n".utf8) + [0, 0, 0, 0]
            // Without a `default` file, the default collection is `login`.
            try writeFile(sealed, to: folder.file("login.keyring"))
            #expect(protection(folder.path) == .keychain)
            try writeFile(plain.utf8, to: folder.file("login.keyring"))
            #expect(protection(folder.path) == .plain)
            try writeFile("Default_keyring\n".utf8, to: folder.file("default"))
            #expect(protection(folder.path) == .keychain)
            try writeFile(plain.utf8, to: folder.file("Default_keyring.keyring"))
            try writeFile(sealed, to: folder.file("login.keyring"))
            #expect(protection(folder.path) == .plain)
            try writeFile(sealed, to: folder.file("Default_keyring.keyring"))
            #expect(protection(folder.path) == .keychain)
        }

        @Test func `an unencrypted collection of oo7 has no protection`() throws {
            let folder = try TemporaryDirectory()
            let file = try folder.folder("v1") + "/login.keyring"
            let header = Array("GnomeKeyring\n\r\0\n\u{1}\0".utf8)
            try writeFile(header + [UInt8](repeating: 7, count: 200) + Array("xdg:content-type".utf8), to: file)
            #expect(protection(folder.path) == .keychain)
            try writeFile(header + Array("....xdg:content-type\0text/plain".utf8), to: file)
            #expect(protection(folder.path) == .plain)
            // The file that gnome-keyring left does not make it better.
            try writeFile("GnomeKeyring\n\r\0\n\0".utf8, to: folder.file("login.keyring"))
            #expect(protection(folder.path) == .plain)
        }

        @Test(.tags(.keyring)) func `a collection of gnome-keyring with a password has keychain protection`() throws {
            let keyring = try PrivateKeyring.shared()
            let files = try FileManager.default.contentsOfDirectory(atPath: keyring.keyringsDirectory)
            #expect(files.contains { $0.hasSuffix(".keyring") }, "\(files)")
            #expect(protection(keyring.keyringsDirectory) == .keychain)
        }
    }
#endif
