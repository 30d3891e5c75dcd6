import CGTK
import Glibc

/// GLib's main loop, which also runs the jobs of the main actor.
///
/// GTK needs the main thread, and so does the main actor. Its executor on Linux is the main queue of libdispatch. GLib's
/// loop therefore waits for that queue's descriptor, beside the descriptors of GTK, and runs the queue's jobs when
/// the descriptor is readable. CoreFoundation's run loop does the same. Nothing polls: without events and jobs, the
/// thread sleeps.
enum MainLoop {
    /// Lets GLib's loop run the jobs of the main actor. Call it once, before ``run(until:)``.
    @MainActor static func serveMainActor() {
        _ = g_unix_fd_add(
            _dispatch_get_main_queue_handle_4CF(), G_IO_IN,
            { descriptor, _, _ in
                // The counter must be reset before the jobs run. A job that is added afterwards sets it again.
                var count: UInt64 = 0
                _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
                _dispatch_main_queue_callback_4CF(nil)
                return 1  // continue to wait for the descriptor
            }, nil)
    }

    /// Runs the loop until a condition holds. The condition is checked after each event.
    @MainActor static func run(until isOver: () -> Bool) {
        while !isOver() { g_main_context_iteration(nil, 1) }
    }
}
