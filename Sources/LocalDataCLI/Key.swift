import ArgumentParser
import LocalData

/// `localdata key`: sealing keys for sources that a program only reads.
struct Key: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes sealing keys for service managers to hand over.", subcommands: [New.self])

    struct New: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints a new sealing key, one line, to standard output.",
            discussion: """
                The line is kept nowhere. Hand it on without showing it, and keep a copy apart from the data and its backup:

                  systemd     localdata key new | systemd-creds encrypt --name=NAME - NAME.cred
                  Kubernetes  localdata key new |
                                kubectl create secret generic SECRET --from-file=NAME=/dev/stdin
                  key file    (umask 077; set -C; localdata key new > FILE)
                """)

        func run() {
            print(KeySourceReference.newKeyText())
            Failure.write("This key is kept nowhere, and what it seals is lost without it: keep a copy. See localdata key new --help.")
        }
    }
}
