// A service without swift-service-lifecycle: it sweeps while it runs, and closes its stores at the end.
// snippet.hide
import Dispatch
import Foundation
import LocalData
import LocalDataService

struct ShopKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [] }
}

func serve() async throws { await terminationSignal() }

// snippet.show
/// Returns when the process gets SIGTERM.
func terminationSignal() async {
    signal(SIGTERM, SIG_IGN)  // the default would end the process
    let source = DispatchSource.makeSignalSource(signal: SIGTERM)
    let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
    source.setEventHandler { continuation.finish() }
    source.resume()
    for await _ in signals {}
    source.cancel()
}
// snippet.hide

func run(_ storage: StorageRouter) async throws {
    // snippet.show
    let maintenance = StorageMaintenance(storage, catalogs: [ShopKeys()])
    let work = Task { try await maintenance.run() }
    try await serve()  // returns after SIGTERM
    work.cancel()
    _ = await work.result
    do {
        try await storage.shutdown(waitingAtMost: .seconds(10))
    } catch StorageError.timedOut {
        print("A disk does not answer. Acknowledged changes are durable; the next start completes the others.")
    }
    // snippet.hide
}
