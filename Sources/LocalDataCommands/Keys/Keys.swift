import ArgumentParser
import LocalData

/// `localdata keys`: makes, recovers, changes and destroys the keys that open encrypted databases, vaults and sealed values.
struct Keys<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "keys", abstract: "Makes, recovers, changes and destroys the keys of encrypted data.",
            discussion: """
                The rows of a database are sealed with its data key. The sealing key of a key source opens the data key, and so does each \
                recovery key that was added to the database. The guide KeySources describes the sources.

                Example: \(Options.program) keys recover sqlite:documents
                """,
            subcommands: [
                New.self, Recipients.self, Add.self, RemoveRecoveryKey.self, Recover.self, Rotate.self, DestroyOlder.self,
                ChangePassphrase.self, ChangeSource.self, Adopt.self,
            ])
    }

    /// `localdata keys new`: makes a key for a source that a program can read but not write, such as a systemd credential.
    struct New: ParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "new", abstract: "Prints a new sealing key, one line, to standard output.",
                discussion: """
                    The tool does not store the line. Pass it on without showing it, and keep a copy apart from the data and its backup:

                      systemd     \(Options.program) keys new | systemd-creds encrypt --name=NAME - NAME.cred
                      Kubernetes  \(Options.program) keys new |
                                    kubectl create secret generic SECRET --from-file=NAME=/dev/stdin
                      key file    (umask 077; set -C; \(Options.program) keys new > FILE)

                    Example: \(Options.program) keys new | systemd-creds encrypt --name=documents-key - documents-key.cred
                    """)
        }

        @Flag(help: "Print one JSON value: {\"key\": …}.") var json = false

        func run() throws {
            let key = KeySourceReference.newKeyText()
            if json { try Output.json(["key": key]) } else { Output.line(key) }
            Failure.write(
                "The tool does not store this key. Keep a copy: without it, sealed data is lost. See \(Options.program) keys new --help.")
        }
    }
}
