import CGTK
import LocalData
import NotesModel

/// The program. With `--report`, it prints a line for each state of the window, for tests.
@main struct NotesProgram {
    @MainActor static func main() {
        let reports = CommandLine.arguments.dropFirst() == ["--report"]
        notes_write_lines_at_once()
        MainLoop.serveMainActor()
        guard gtk_init_check() != 0 else { fatalError("There is no display.") }

        let storage = StorageRouter(configuration: .notes)
        let window = MainWindow(NotesModel(storage)) { if reports { print($0) } }
        window.present()
        MainLoop.run { window.isClosed }

        var isShutDown = false
        Task {
            try? await storage.shutdown()
            isShutDown = true
        }
        MainLoop.run { isShutDown }
    }
}
