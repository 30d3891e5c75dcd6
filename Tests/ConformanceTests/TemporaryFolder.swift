import Foundation
import Synchronization

/// A folder that is gone when the process ends in order.
final class TemporaryFolder: Sendable {
    let folder: URL

    init() {
        folder = FileManager.default.temporaryDirectory.appending(path: "LocalDataConformance-\(UUID().uuidString)")
        Self.all.withLock { $0.append(folder) }
        Self.registration
    }

    private static let all = Mutex<[URL]>([])
    private static let registration: Void = {
        atexit { for folder in TemporaryFolder.all.withLock({ $0 }) { try? FileManager.default.removeItem(at: folder) } }
    }()
}
