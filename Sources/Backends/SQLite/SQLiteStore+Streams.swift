#if SQLite
    package import BackendContract
    import Sealing

    /// Large content that is written in chunks. It is read in order, and from its beginning again if a transaction has to be repeated.
    package struct StreamSource: Sendable {
        /// The bytes of all of it.
        let length: Int
        /// Gives a part of it. Called on the store's lane with the lock held, so it must not wait for anything.
        let read: @Sendable (Range<Int>) throws(BackendError) -> [UInt8]

        /// - Parameters:
        ///   - length: The bytes of all of it.
        ///   - read: Gives a part; exactly as many bytes as were asked for.
        package init(length: Int, read: @escaping @Sendable (Range<Int>) throws(BackendError) -> [UInt8]) {
            (self.length, self.read) = (length, read)
        }
    }

    /// A large content that a value has beside its payload, as it was when it was found. Read it with ``SQLiteStore/chunk(_:of:)``.
    package struct StoredStream: Sendable {
        let address: StorageAddress
        let revision: StorageRevision
        let stream: RowStream

        /// The bytes of the content.
        package var length: Int { Int(stream.length) }
        /// The number of its chunks, at least one: each has 65,536 bytes of the content, the last ones fewer or none.
        package var chunkCount: Int { Int(stream.count) }
    }

    /// Values with a large content: written, replaced and removed in one transaction with their row, and read chunk by chunk.
    extension SQLiteStore {
        /// Stores a value with a large content; both are durable when this returns. What the value had before is replaced, its chunks too.
        /// A put without a content, a tombstone and a delete remove the chunks as well.
        /// - Parameters:
        ///   - payload: The value's own bytes, which a read returns.
        ///   - source: The content. The lock is held while it is read, so that another process waits for it.
        /// - Throws: ``BackendError``; an error of the source is in the result, and nothing was changed then.
        package func put(
            _ payload: [UInt8], _ metadata: StorageMetadata = StorageMetadata(), at address: StorageAddress,
            if precondition: StorageMutation.Precondition = .none, content source: StreamSource
        ) async throws(BackendError) -> MutationResult {
            let mutation = StorageMutation.put(.bytes(payload), metadata, at: address, if: precondition)
            return try await apply([mutation], source, []).first ?? .notAttempted
        }

        /// The large content of a value; nil where there is no value, or it has none.
        /// - Throws: ``BackendError``: `corrupted` for a damaged row, and those of the key.
        package func stream(at address: StorageAddress) async throws(BackendError) -> StoredStream? {
            let found = try await scanning { (file, session, _) throws(BackendError) in
                try file.scanner.stream(at: address, session, isCurrent: { file.isCurrent(session) })
            }
            return found.flatMap(\.self)
        }

        /// One chunk of a content.
        /// - Parameters:
        ///   - number: Its number, from 0.
        ///   - stream: The content, as it was found.
        /// - Throws: ``BackendError``: `corrupted` for a chunk that is missing or not the one that was written; `unavailable` if the value
        ///   was changed or removed since the content was found.
        package func chunk(_ number: Int, of stream: StoredStream) async throws(BackendError) -> [UInt8] {
            precondition((0..<stream.chunkCount).contains(number), "The content has \(stream.chunkCount) chunks.")
            let chunk = try await scanning { (file, session, _) throws(BackendError) in
                try file.scanner.chunk(Int64(number), of: stream, session, isCurrent: { file.isCurrent(session) })
            }
            guard let chunk else { throw PageReader.changedMeanwhile }
            return chunk
        }
    }

    extension DatabaseScanner {
        /// What a value's row says of its large content; nil as with ``listing(in:_:isCurrent:isWanted:)``.
        fileprivate func stream(
            at address: StorageAddress, _ session: DatabaseSession, isCurrent: () -> Bool
        ) throws(BackendError) -> StoredStream?? {
            try reading(session, isCurrent) { (pages) throws(PageReader.Interruption) in try pages.stream(at: address, session) }
        }

        /// A chunk, opened; nil as with ``listing(in:_:isCurrent:isWanted:)``.
        fileprivate func chunk(
            _ number: Int64, of stream: StoredStream, _ session: DatabaseSession, isCurrent: () -> Bool
        ) throws(BackendError) -> [UInt8]? {
            try reading(session, isCurrent) { (pages) throws(PageReader.Interruption) in
                try pages.chunk(number, of: stream, session)
            }
        }
    }

    extension PageReader {
        /// The large content of a value, in the transaction of its row.
        fileprivate func stream(at address: StorageAddress, _ session: DatabaseSession) throws(Interruption) -> StoredStream? {
            let found: RowFinder.Result
            do throws(SQLiteFault) { found = try finder.find(address, session.keyset, inTransaction: true) } catch {
                throw .failed(error.readError())
            }
            guard case .found(let row) = found else { return nil }
            switch row.probe {
            case .value(let record): return row.stream.map { StoredStream(address: address, revision: record.revision, stream: $0) }
            case .corrupt(let corruption): throw .failed(BackendError(.corrupted, "The value cannot be read: \(corruption.reason)."))
            case .unavailable(let error): throw .failed(error)
            case .tombstone, .absent, .locked: return nil
            }
        }

        fileprivate func chunk(_ number: Int64, of stream: StoredStream, _ session: DatabaseSession) throws(Interruption) -> [UInt8] {
            guard let now = try self.stream(at: stream.address, session), now.revision == stream.revision, now.stream == stream.stream
            else {
                throw .failed(Self.changedMeanwhile)
            }
            let sealed: [UInt8]?
            do throws(SQLiteFault) {
                if chunks == nil { chunks = try ChunkStatements(database) }
                sealed = try chunks?.chunk(at: stream.stream.place + number)
            } catch { throw .failed(error.readError()) }
            guard let sealed else { throw .failed(RowStream.damage(number)) }
            do throws(BackendError) {
                return try stream.stream.open(sealed, number: number, database: session.keyset.database, stream.address)
            } catch { throw .failed(error) }
        }

        static let changedMeanwhile = BackendError(
            .unavailable, "The value was changed or removed while its content was read. Find it again and begin with its first part.")
    }
#endif
