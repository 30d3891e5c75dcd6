#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing

    /// Writing and removing chunks, in the transaction of their row.
    extension DatabaseWriter.Rows {
        /// Writes all chunks of a content, one after the other: memory holds one of them.
        /// - Returns: What the value's row says of them.
        func writeChunks(
            _ source: StreamSource, of address: StorageAddress, _ runtime: Runtime, _ progressed: () -> Void
        ) throws(BackendError) -> RowStream {
            guard source.length <= RowStream.maximumLength else {
                throw BackendError.tooLarge(
                    source.length, limit: Int(RowStream.maximumLength), "a database", remedy: BackendError.splitting)
            }
            if !header.hasChunks { try add(.chunks, keyset) }
            let stream = RowStream(place: try freePlace(runtime), length: Int64(source.length), runtime.randomBytes)
            var sealer = stream.sealer(database: keyset.database, address)
            for number in 0..<stream.count {
                progressed()
                let range = stream.contentRange(ofChunk: number)
                var chunk = try source.read(Int(range.lowerBound)..<Int(range.upperBound))
                defer { wipe(&chunk) }
                guard chunk.count == range.count else {
                    throw BackendError(.failed, "The content has another length than was said. Nothing was changed.")
                }
                let isLast = number == stream.count - 1
                let start = number * Int64(SealedStream.chunkLength)
                let length = isLast ? Int(stream.paddedLength - start) : SealedStream.chunkLength
                if chunk.count < length { chunk += [UInt8](repeating: 0, count: length - chunk.count) }
                let sealed = try sealer.seal(chunk, isLast: isLast)
                do throws(SQLiteFault) { try statements.chunks().insert(sealed, at: stream.place + number) } catch {
                    throw error.backendError()
                }
            }
            return stream
        }

        /// A random place with enough free ones after it, so that places tell nothing of names or of an order.
        private func freePlace(_ runtime: Runtime) throws(BackendError) -> Int64 {
            while true {
                let place = Int64(runtime.randomBits() >> (2 + RowStream.placeBits)) << RowStream.placeBits
                do throws(SQLiteFault) {
                    let next = try statements.chunks().place(from: place)
                    if next.map({ $0 >= place + 1 << RowStream.placeBits }) ?? true { return place }
                } catch { throw error.backendError() }
            }
        }

        /// Removes the chunks of a value that is replaced or removed, also those that another program has put behind them.
        func removeChunks(of stream: RowStream?) throws(BackendError) {
            guard let stream, header.hasChunks else { return }
            hasRemoved = true
            do throws(SQLiteFault) { try statements.chunks().delete(stream.place..<stream.place + 1 << RowStream.placeBits) } catch {
                throw error.backendError()
            }
        }

        /// Removes chunks that belong to no value. While any row is damaged, all are kept: they may be that row's.
        func removeStrayChunks() throws(BackendError) {
            guard header.hasChunks else { return }
            var known: [Int64: Int64] = [:]
            var isWhole = true
            try finder.database.rows("SELECT slot, version, sealed FROM records") { (statement) throws(BackendError) in
                switch RawRow(statement, firstColumn: 0).open(keyset) {
                case .content(let content, _): if let stream = content.stream { known[stream.place] = stream.count }
                case .destroyed: break
                case .damaged, .stranger, .refused: isWhole = false
                }
            }
            guard isWhole else { return }
            var stray: [Int64] = []
            try finder.database.rows("SELECT id FROM chunks") { (statement) throws(BackendError) in
                let id = statement.integer(0)
                let place = (id >> RowStream.placeBits) << RowStream.placeBits
                if id - place >= known[place] ?? 0 { stray.append(id) }
            }
            if !stray.isEmpty { hasRemoved = true }
            do throws(SQLiteFault) { for id in stray { try statements.chunks().delete(id..<id + 1) } } catch {
                throw error.backendError()
            }
        }
    }
#endif
