package import BackendContract
internal import BackendRuntime
internal import Crypto
internal import Foundation

/// The means to open a sealed file: a passphrase or a recovery key.
package enum StreamOpener: Sendable {
    /// A passphrase.
    case passphrase(StreamPassphrase)
    /// A recovery key.
    case recovery(RecoveryKeyPair)
    /// A header that was opened before. The file must begin with the same header, and no key is derived again.
    case opened(StreamHeader)
}

/// A recipient of a sealed file: a passphrase or a key that will open it.
package enum StreamRecipient: Sendable {
    /// A passphrase, with its cost. Each guess costs one derivation with scrypt.
    case passphrase(StreamPassphrase, PassphraseCost)
    /// A recovery key. Its private half makes a tag, which proves that the file was made with the key.
    case recovery(RecoveryKeyPair)
}

/// A passphrase in Unicode normalization form C, in memory that is overwritten before it is freed.
package struct StreamPassphrase: Sendable, CustomStringConvertible, CustomReflectable {
    let secret: SecretBytes

    /// Creates a passphrase from a text.
    /// - Throws: ``BackendError`` with `locked` if the text is empty.
    package init(_ text: String) throws(BackendError) {
        guard !text.isEmpty else {
            throw BackendError(.locked, "The passphrase is empty. Give one and try again; nothing was changed.")
        }
        // ASCII text is already in form C. Do not normalize it, because Foundation's copy of it cannot be overwritten.
        secret = PassphraseSource.secret(text)
    }

    /// The name of the type. The description never contains the passphrase.
    package var description: String { "StreamPassphrase" }
    /// Shows no children, so that a dump contains no secret.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The header of a sealed file, format 1. It contains the recipients, and the random file key, sealed for each
/// recipient.
///
/// ```
/// 4C 44 4B 01    "LDK", format 1
/// purpose        1 byte: 1 for a backup, 2 for an export
/// id             16 random bytes
/// count          1 byte: the number of recipients, 1 to 16
/// recipients     each: kind (1 byte: 1 passphrase, 2 recovery key), length (4 bytes), content
/// tag            32 bytes: HMAC-SHA256 of everything before, under a key that is HKDF-SHA256
///                of the file key (salt: id, info: "LocalData stream 1 header")
/// ```
///
/// The content for a passphrase is: the parameters of scrypt, which are log2 N (1 byte), r (4) and p (4); salt (32),
/// nonce (24), sealed file key with tag (48). The cipher is XAES-256-GCM with a key that scrypt derives from the
/// passphrase. The associated data is ``Fields`` for `LocalData stream 1 passphrase`, with purpose, id and the first 41
/// bytes.
///
/// The content for a recovery key is: its public half (32), the file key sealed for it (80), the recovery key's tag
/// (32). The file key is sealed for the purpose `LocalData stream 1 recovery`. The associated data is ``Fields`` for
/// the same text, with purpose, id and public half. The tag authenticates ``Fields`` for
/// `LocalData stream 1 recovery tag`, with purpose, id and the 112 bytes before. This tag proves that the file was made
/// with the private half of the recovery key. The public half alone does not suffice.
package struct StreamHeader: Sendable {
    /// The purpose of a sealed file.
    package enum Purpose: UInt8, Sendable {
        case backup = 1
        case export = 2
    }

    package static let magic = Array("LDK".utf8)
    static let maximumRecipients = 16
    /// A length in bytes that no header exceeds.
    package static let maximumLength = 4_096

    /// The purpose of the file.
    package let purpose: Purpose
    /// The id of the file.
    package let id: [UInt8]
    /// The bytes of the header.
    package let bytes: [UInt8]
    let key: SymmetricKey

    /// Creates the header of a new file. Each passphrase takes as much time and memory as its cost says.
    package init(
        _ purpose: Purpose, for recipients: [StreamRecipient], _ randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) {
        guard (1...Self.maximumRecipients).contains(recipients.count) else {
            throw BackendError(.unsupported, "A sealed file is made for 1 to \(Self.maximumRecipients) recipients. Nothing was written.")
        }
        let id = randomBytes(16)
        let key = SymmetricKey.random(randomBytes)
        var writer = ByteWriter()
        writer.bytes = Self.magic + [1, purpose.rawValue] + id + [UInt8(recipients.count)]
        var plain = key.withUnsafeBytes { Array($0) }
        defer { wipe(&plain) }
        for recipient in recipients {
            switch recipient {
            case .passphrase(let passphrase, let cost):
                guard cost.isFitForFiles else {
                    throw BackendError(.unsupported, "The passphrase of a file may cost at most 256 MiB (128 · N · r · p).")
                }
                var content = ByteWriter()
                content.byte(cost.logN)
                content.fixed(cost.blockSize)
                content.fixed(cost.parallelism)
                content.bytes += randomBytes(32)
                let cipher = try PassphraseFile.cipher(passphrase.secret, salt: content.bytes[9..<41], cost)
                let nonce = randomBytes(XAES256GCM.nonceLength)
                content.bytes +=
                    nonce
                    + (try cipher.seal(plain, nonce: nonce, authenticating: Self.data(Self.ofPassphrase, purpose, id, content.bytes).bytes))
                writer.byte(1)
                writer.counted(content.bytes)
            case .recovery(let pair):
                let recipient = try RecoveryRecipient(publicKey: pair.publicKey)
                let data = Self.data(Self.ofRecovery, purpose, id, recipient.publicKey).bytes
                let content = recipient.publicKey + (try recipient.seal(plain, for: Self.ofRecovery, authenticating: data))
                writer.byte(2)
                // Reason: "A backup is one sealed stream" in Docs/Decisions/Backups.md.
                writer.counted(content + pair.tag(of: Self.data(Self.ofTag, purpose, id, content)))
            }
        }
        (self.purpose, self.id, self.key) = (purpose, id, key)
        bytes = writer.bytes + Self.tag(writer.bytes, key, id)
    }

    /// Parses and opens the header at the beginning of a file. The call succeeds only if the header's tag is valid.
    /// - Parameters:
    ///   - start: The first bytes of the file: as many as a header may have, or the whole file.
    ///   - opener: The passphrase or recovery key, or the header opened before.
    ///   - purpose: The expected purpose of the file.
    /// - Throws: ``BackendError``: `encryptionKeyMismatch` for another passphrase or recovery key; `unsupported` for
    ///   another format or purpose; `corrupted`.
    package init(_ start: [UInt8], opening opener: StreamOpener, for purpose: Purpose) throws(BackendError) {
        if case .opened(let header) = opener {
            guard start.starts(with: header.bytes), header.purpose == purpose else { throw Self.damaged }
            self = header
            return
        }
        guard start.starts(with: Self.magic), start.count > 5 else { throw Self.foreign }
        guard start[3] == 1 else {
            throw BackendError(
                .unsupported, "The file has format \(start[3]), which this version does not know. Use the version that made it.")
        }
        guard start[4] == purpose.rawValue else {
            throw BackendError(
                .unsupported,
                start[4] == Purpose.export.rawValue
                    ? "The file is an export of values, and no backup. Use import." : "The file is no export of values. Is it a backup?")
        }
        var reader = ByteReader(start[5...])
        var id: [UInt8] = []
        var candidates: [(kind: UInt8, content: [UInt8])] = []
        do throws(RecordDamage) {
            for _ in 0..<16 { id.append(try reader.byte()) }
            for _ in 0..<(try reader.byte()) { candidates.append((try reader.byte(), try reader.counted())) }
        } catch { throw Self.damaged }
        guard (1...Self.maximumRecipients).contains(candidates.count) else { throw Self.damaged }
        let length = 22 + candidates.reduce(0) { $0 + 5 + $1.content.count }
        guard start.count >= length + 32 else { throw Self.damaged }
        var mismatch: BackendError?
        for (kind, content) in candidates {
            guard var plain = try Self.open(kind, content, opener, purpose, id, &mismatch) else { continue }
            defer { wipe(&plain) }
            let key = SymmetricKey(data: plain)
            guard
                HMAC<SHA256>.isValidAuthenticationCode(
                    start[length..<length + 32], authenticating: start[..<length], using: Self.tagKey(key, id))
            else { throw Self.damaged }
            (self.purpose, self.id, self.key) = (purpose, id, key)
            bytes = Array(start[..<(length + 32)])
            return
        }
        throw mismatch
            ?? BackendError(
                .encryptionKeyMismatch,
                candidates.contains { $0.kind == 1 }
                    ? "The file was not sealed for a recovery key. Give its passphrase."
                    : "The file was sealed for a recovery key only. Give that.")
    }

    private static func open(
        _ kind: UInt8, _ content: [UInt8], _ opener: StreamOpener, _ purpose: Purpose, _ id: [UInt8], _ mismatch: inout BackendError?
    ) throws(BackendError) -> [UInt8]? {
        switch (kind, opener) {
        case (1, .passphrase(let passphrase)):
            guard content.count == 113 else { throw damaged }
            var reader = ByteReader(content[1...])
            let cost: PassphraseCost
            do throws(RecordDamage) {
                cost = PassphraseCost(
                    logN: content[0], blockSize: try reader.fixed(UInt32.self), parallelism: try reader.fixed(UInt32.self))
            } catch { throw damaged }
            guard cost.isFitForFiles else { throw damaged }
            let cipher = try PassphraseFile.cipher(passphrase.secret, salt: content[9..<41], cost)
            do throws(BackendError) {
                return try cipher.open(
                    Array(content[65...]), nonce: Array(content[41..<65]),
                    authenticating: data(ofPassphrase, purpose, id, Array(content[..<41])).bytes)
            } catch {
                mismatch = BackendError(
                    .encryptionKeyMismatch,
                    "The passphrase is not the file's, or the beginning of the file is damaged. Nothing was changed.")
                return nil
            }
        case (2, .recovery(let pair)):
            let sealedLength = 32 + 32 + RecoveryKeyPair.overhead
            guard content.count == sealedLength + 32 else { throw damaged }
            let half = Array(content[..<32])
            guard half == pair.publicKey else {
                mismatch = BackendError(.encryptionKeyMismatch, "The file was sealed for another recovery key. Nothing was changed.")
                return nil
            }
            let tagged = data(ofTag, purpose, id, Array(content[..<sealedLength]))
            guard pair.isTag(Array(content[sealedLength...]), of: tagged) else { throw planted }
            return try pair.open(
                Array(content[32..<sealedLength]), for: ofRecovery, authenticating: data(ofRecovery, purpose, id, half).bytes)
        case (1, _), (2, _): return nil
        default: throw damaged
        }
    }

    private static let ofPassphrase = "LocalData stream 1 passphrase"
    private static let ofRecovery = "LocalData stream 1 recovery"
    private static let ofTag = "LocalData stream 1 recovery tag"

    private static func data(_ text: String, _ purpose: Purpose, _ id: [UInt8], _ rest: [UInt8]) -> Fields {
        Fields(text, [purpose.rawValue], id, rest)
    }

    private static func tagKey(_ key: SymmetricKey, _ id: [UInt8]) -> SymmetricKey { subkey("header", key, id) }

    static func subkey(_ purpose: String, _ key: SymmetricKey, _ id: [UInt8]) -> SymmetricKey {
        KeyDerivation.key(from: key, salt: id, for: "LocalData stream 1 \(purpose)".utf8)
    }

    private static func tag(_ bytes: [UInt8], _ key: SymmetricKey, _ id: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: tagKey(key, id)))
    }

    /// The tag. Every chunk is bound to it, and thus to this header.
    var tag: [UInt8] { Array(bytes.suffix(32)) }

    static let foreign = BackendError(.corrupted, "The file was not made by this library. Give the right one; nothing was changed.")
    static let planted = BackendError(
        .corrupted,
        "The file lists this recovery key but was not made with it, or its beginning is damaged. Use another copy; nothing was changed."
    )
    static let damaged = BackendError(.corrupted, "The beginning of the file is damaged. Use another copy; nothing was changed.")
}
