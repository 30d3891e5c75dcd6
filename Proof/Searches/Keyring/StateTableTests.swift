#if Keyring && os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// Tests of the answers that a program gets from each keyring in each of its states, such as locked, stopped or
    /// without a bus. Prints the table of `Proof/Failures.md`.
    @Suite(.alone, .serialized, .timeLimit(.minutes(10)), .tags(.keyring))
    struct StateTableTests {
        @Test func `gnome-keyring answers as documented in every state`() async throws {
            let keeper = try await GnomeKeyring()
            try await StateTable(keeper).run { table in
                try await table.lockedOther(makingCollection: { try keeper.keyring.createCollection("other") })
                // gnome-keyring forgets a collection whose file is missing, until it is started again.
                try await table.unwritable(
                    "data/keyrings", read: "unavailable unavailable", change: "failed unavailable notApplied", startsAgain: true)
            }
        }

        @Test func `KeePassXC answers as documented in every state`() async throws {
            try await StateTable(KeePassXC()).run { table in
                table.cannot(StateTable.otherIsLocked, "a second database is opened in its window")
                table.cannot(StateTable.folderIsGone, "it answers before it writes its file")
            }
        }

        @Test func `KWallet answers as documented in every state`() async throws {
            try await StateTable(KWallet()).run { table in
                table.cannot(StateTable.otherIsLocked, "a second wallet asks for a password in a window")
                table.cannot(StateTable.folderIsGone, "it answers before it writes its file")
            }
        }

        @Test func `pass-secret-service answers as documented in every state`() async throws {
            let keeper = try await PassSecretService()
            try await StateTable(keeper).run { table in
                try await table.lockedOther(makingCollection: { try keeper.keyring.createPlainCollection("other") })
                try await table.unwritable("store/secret_service", read: "unavailable failed", change: "failed failed notApplied")
            }
        }
    }

    /// Brings one keyring into each state and makes calls during the state and after it.
    private final class StateTable {
        private let keeper: any Keeper
        private let probe: RunningProgram

        init(_ keeper: any Keeper) throws {
            self.keeper = keeper
            probe = try keeper.anyProbe()
        }

        func run(_ more: (StateTable) async throws -> Void) async throws {
            try await state("empty", read: "absent", change: "applied untilPowerLoss")
            let told = try await probe.ask("keyring").outcome
            #expect(told.hasSuffix("dh-ietf1024-sha256-aes128-cbc-pkcs7"), "\(told)")
            cannot("takes secrets only as they are", "it opens encrypted sessions")
            try await others("store", input: "theirs")
            try await keeper.settle()
            try await noDaemon()
            try await noBus()
            try await hangs()
            try await dies()
            try await restarted()
            try await locked()
            try await noDefault()
            try await more(self)
            let kept = try await others("lookup")
            #expect(kept == "theirs", "what another program keeps")
            print("| \(keeper.name) | what another program keeps is there | \(kept) | | |")
            _ = await probe.end()
            await keeper.kill()
        }

        static let otherIsLocked = "another collection with the item is locked"
        static let folderIsGone = "its folder is gone, and a file in its place"

        /// Prints a row for a state that cannot be tested with this keyring, and the reason.
        func cannot(_ state: String, _ reason: String) { print("| \(keeper.name) | \(state) | cannot be: \(reason) | | |") }

        // MARK: States

        private func noDaemon() async throws {
            await keeper.kill()
            try await state("no program keeps secrets", read: "unavailable unavailable", change: "failed unavailable notApplied")
            try await keeper.startOpen()
            try await over()
        }

        private func noBus() async throws {
            await keeper.kill()
            keeper.keyring.killBus()
            try await state("no bus", read: "unavailable unavailable", change: "failed unavailable notApplied")
            try await offPool { [keyring = keeper.keyring] in try keyring.startBus() }
            try await keeper.startOpen()
            try await over()
        }

        private func hangs() async throws {
            let process = try keeper.keyring.keeperProcessID()
            try await probe.expect("deadline 1000", "set")
            kill(process, SIGSTOP)
            try await state("the program is stopped", read: "threw timedOut notApplied", change: "threw timedOut")
            kill(process, SIGCONT)
            try await probe.expect("deadline 120000", "set")
            try await over()
        }

        private func dies() async throws {
            let process = try keeper.keyring.keeperProcessID()
            kill(process, SIGSTOP)
            let answer = Task { [probe] in try await probe.ask("put a two") }
            try await Task.sleep(for: .milliseconds(500))
            kill(process, SIGKILL)
            let found = try await answer.value
            #expect(found.outcome.hasPrefix("failed unavailable") && (found.number("ms") ?? .max) < millisecondsOfBus)
            await keeper.kill()
            print("| \(keeper.name) | the program ends while it is asked | | \(found) | |")
            try await keeper.startOpen()
            try await over()
        }

        /// Restarts the keyring. The test program keeps its session, an encrypted connection to the process that has
        /// ended.
        private func restarted() async throws {
            try await keeper.settle()
            await keeper.kill()
            try await keeper.startOpen()
            try await state("started again", read: "value two", change: "applied untilPowerLoss")
        }

        private func locked() async throws {
            try await keeper.settle()
            try await keeper.lock()
            try await state("the default collection is locked", read: "locked", change: "locked")
            let answer = try await probe.ask("unlock")
            print("| \(keeper.name) | unlock, and nobody answers a prompt | | \(answer) | |")
            if try await probe.ask("get a").outcome == "locked" {
                await keeper.kill()
                try await keeper.startOpen()
            }
            try await over()
        }

        private func noDefault() async throws {
            let keyring = keeper.keyring
            let collection = try keyring.defaultCollection()
            // Some keyrings refuse to remove the default collection, and it stays.
            try? keyring.setDefault("/")
            guard try keyring.defaultCollection() == "/" else {
                cannot("no default collection", "SetAlias leaves the one there is")
                return
            }
            try await state("no default collection", read: "value two", change: "applied untilPowerLoss")
            let other = try await probe.ask("get other")
            let made = try await probe.ask("create other")
            print("| \(keeper.name) | no default collection, nothing there | \(other) | \(made) | |")
            try keyring.setDefault(collection)
            try await over()
        }

        func lockedOther(makingCollection make: () throws -> String) async throws {
            let keyring = keeper.keyring
            let other = try make()
            try keyring.createItem(
                "theirs", ["application": "LocalData", "service": "probe", "namespace": "values", "account": "beside"], in: other)
            try keyring.lock(other)
            let read = try await probe.ask("get beside")
            let change = try await probe.ask("put beside two")
            #expect([read, change].map(\.outcome) == ["locked", "locked"])
            print("| \(keeper.name) | \(Self.otherIsLocked) | \(read) | \(change) | |")
            try await over()
        }

        /// Replaces the folder by a file, which prevents writes even by root.
        func unwritable(_ folder: String, read: String, change: String, startsAgain: Bool = false) async throws {
            let path = keeper.keyring.file(folder)
            try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
            try "".write(toFile: path, atomically: false, encoding: .utf8)
            try await state(Self.folderIsGone, read: read, change: change)
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
            if startsAgain {
                await keeper.kill()
                try await keeper.startOpen()
            }
            try await over()
        }

        // MARK: Asking

        private func state(_ name: String, read: String, change: String) async throws {
            let found = try await probe.ask("get a")
            let changed = try await probe.ask("put a two")
            print("| \(keeper.name) | \(name) | \(found) | \(changed) | |")
            #expect(found.outcome == read, "\(keeper.name): \(name)")
            #expect(changed.outcome.hasPrefix(change), "\(keeper.name): \(name)")
        }

        /// Requires that the first call after the end of a state succeeds.
        private func over() async throws {
            let found = try await probe.ask("get a")
            print("| \(keeper.name) | … and over | \(found) | | |")
            #expect(found.outcome == "value two")
        }

        @discardableResult
        private func others(_ command: String, input: String = "") async throws -> String {
            let arguments = (command == "store" ? ["store", "--label=theirs"] : [command]) + ["any", "thing"]
            let result = try await TestSupport.run("secret-tool", arguments, environment: keeper.keyring.environment, input: input)
            #expect(result.status == 0, "\(result)")
            return result.stdout
        }
    }
#endif
