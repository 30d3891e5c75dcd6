// A button "Unlock" of a desktop program whose secrets wait for the keyring.
// snippet.hide
import LocalData

// snippet.show
/// Unlocks the keyring, migrates the values that waited for it, and returns a message for the window.
@MainActor func unlockKeyring(_ storage: StorageRouter) async throws -> String {
    do {
        try await storage.unlock(.keychain)  // the desktop asks for the password; the window still responds
    } catch StorageError.promptDismissed {
        return "The keyring is still locked."  // nothing was changed
    } catch StorageError.timedOut {
        return "The question for the password was not answered."
    } catch let error as StorageError where error.code == .locked || error.code == .unavailable {
        return error.message  // no program can ask for the password, or no keyring runs
    }
    let report = await storage.sweep()
    return report.isComplete ? "All values are available." : "\(report.blocked.count) values still wait."
}
