import BackendContract

/// A walk through the records that answer a query: one page is held at a time.
struct RecordPages: AsyncSequence, Sendable {
    typealias Element = [StoragePage.Entry]
    typealias Failure = any Error

    let routes: RouteTable
    let domain: StorageDomain
    let collection: String
    let query: StorageQuery
    let size: Int

    func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

    struct Iterator: AsyncIteratorProtocol {
        let pages: RecordPages
        private var cursor: StorageCursor?
        private var isOver = false

        init(pages: RecordPages) { self.pages = pages }

        mutating func next() async throws -> [StoragePage.Entry]? {
            while !isOver {
                let (_, backend) = try pages.routes.backend(for: pages.domain, key: pages.collection)
                let page = try await translatingErrors(key: pages.collection) { [pages, cursor] () throws(BackendError) in
                    try await backend.page(pages.query, after: cursor, limit: pages.size)
                }
                cursor = page.next
                isOver = page.next == nil
                if !page.entries.isEmpty { return page.entries }
            }
            return nil
        }
    }
}
