import ArgumentParser
import LocalData

/// `localdata key`: creates encryption keys for key sources that a program can read but not write, such as a systemd
/// credential.
struct Key: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes sealing keys that a service manager passes to a service.", subcommands: [New.self])

    struct New: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints a new sealing key, one line, to standard output.",
            discussion: """
                The tool does not store the line. Pass it on without showing it, and keep a copy apart from the data and its backup:

                  systemd     localdata key new | systemd-creds encrypt --name=NAME - NAME.cred
                  Kubernetes  localdata key new |
                                kubectl create secret generic SECRET --from-file=NAME=/dev/stdin
                  key file    (umask 077; set -C; localdata key new > FILE)
                """)

        @Flag(help: "Print one JSON value: {\"key\": …}.") var json = false

        func run() throws {
            let key = KeySourceReference.newKeyText()
            if json { try Output.json(["key": key]) } else { Output.line(key) }
            Failure.write("The tool does not store this key. Keep a copy: without it, sealed data is lost. See localdata key new --help.")
        }
    }
}
