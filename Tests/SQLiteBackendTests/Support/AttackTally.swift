#if SQLite
    import BackendContract
    import SQLiteBackend
    import Synchronization
    import TestSupport
    import Testing

    /// The result of a read after an attack, compared with the content before the attack.
    enum Verdict: Hashable {
        /// The content from before the attack, or absence for a name that was never written.
        case right
        /// Corrupt, unavailable or locked: the caller gets an error instead of a wrong answer.
        case refused
        /// Absent, although the name was written.
        case hidden
        /// A complete older state of the same name: a replay.
        case older
        /// Any other state that is reported as valid.
        case wrong

        init(_ probe: StorageProbe, expected: StorageProbe, older: [StorageProbe] = []) {
            switch probe {
            case expected: self = .right
            case .corrupt, .unavailable, .locked: self = .refused
            case .absent: self = older.contains(.absent) ? .older : .hidden
            case .value, .tombstone: self = older.contains(probe) ? .older : .wrong
            }
        }
    }

    /// Counts the results of the reads after one attack, for a table of all attacks.
    struct AttackTally {
        let name: String
        private(set) var attacks = 0
        /// The verdicts of reads of the names that the attack aimed at.
        private(set) var aimed: [Verdict: Int] = [:]
        /// The number of refused reads that report a corrupt slot. The other refused reads report an error.
        private(set) var corruptSlots = 0
        /// The verdicts of reads of all other names.
        private(set) var others: [Verdict: Int] = [:]
        /// The number of refused changes to names whose read was refused. `madeChanges` counts the applied ones.
        private(set) var refusedChanges = 0
        private(set) var madeChanges = 0
        /// The verdicts of lists of names: complete (`right`), refused, incomplete (`hidden`), with names that only
        /// an older state has (`older`), or with any other name (`wrong`).
        private(set) var lists: [Verdict: Int] = [:]

        init(_ name: String) { self.name = name }

        mutating func countAttack() { attacks += 1 }
        mutating func count(_ verdict: Verdict, isAimed: Bool) {
            if isAimed { aimed[verdict, default: 0] += 1 } else { others[verdict, default: 0] += 1 }
        }
        mutating func countChange(isMade: Bool) { if isMade { madeChanges += 1 } else { refusedChanges += 1 } }
        mutating func countList(_ verdict: Verdict) { lists[verdict, default: 0] += 1 }

        /// Reads every name, and the list of names.
        mutating func look(
            _ store: SQLiteStore, _ expected: [(address: StorageAddress, probe: StorageProbe)], aimedAt: Set<StorageAddress>,
            older: [StorageAddress: [StorageProbe]] = [:], listing: Bool = true
        ) async throws -> [StorageProbe] {
            let probes = try await store.probes(expected.map(\.address))
            for (probe, (address, right)) in zip(probes, expected) {
                let verdict = Verdict(probe, expected: right, older: older[address] ?? [])
                count(verdict, isAimed: aimedAt.contains(address))
                if case .corrupt = probe { corruptSlots += 1 }
                if verdict == .wrong { Issue.record("\(name): \(address) is claimed to be \(probe)") }
            }
            guard listing else { return probes }
            func names(_ isWritten: (StorageAddress, StorageProbe) -> Bool) -> Set<StorageAddress> {
                Set(expected.filter { $0.address.namespace == .values && isWritten($0.address, $0.probe) }.map(\.address))
            }
            let written = names { $1 != .absent }
            let possible = names { $1 != .absent || older[$0]?.contains { $0 != .absent } == true }
            do throws(BackendError) {
                let list = try await store.addresses(in: .values)
                let listed = Set(list)
                if listed.count != list.count || !listed.isSubset(of: possible) {
                    countList(.wrong)
                    Issue.record("\(name): the list is \(list)")
                } else {
                    countList(listed == written ? .right : listed.isSubset(of: written) ? .hidden : .older)
                }
            } catch {
                countList(.refused)
            }
            return probes
        }

        /// Tries to remove and to replace each value whose read was refused.
        /// The changes do not state the revision of the value, so each of them must be refused.
        mutating func change(
            _ store: SQLiteStore, _ probes: [StorageProbe], _ expected: [(address: StorageAddress, probe: StorageProbe)]
        ) async throws {
            for (probe, (address, right)) in zip(probes, expected) where Verdict(probe, expected: right) == .refused {
                for mutation in [
                    StorageMutation.delete(address), .put(.bytes([1]), at: address), .put(.bytes([1]), at: address, if: .absent),
                    .tombstone(at: address),
                ] {
                    let result: MutationResult
                    do throws(BackendError) { result = try await store.apply(mutation) } catch { result = .failed(error) }
                    countChange(isMade: result.isApplied)
                    if result.isApplied {
                        Issue.record("\(name): \(mutation) was made over bytes that nobody has seen (\(probe))")
                    }
                }
            }
        }

        /// Adds the counts to the table that is printed after the last attack.
        func note() { AttackTable.add(self) }

        /// Returns the number of reads with a verdict.
        func looks(_ verdict: Verdict) -> Int { (aimed[verdict] ?? 0) + (others[verdict] ?? 0) }
    }

    /// The attacks. Each one counts its results, which are printed as one table.
    @Suite(.inTurn, .attackTable, .slow("flips every bit"), .tags(.campaign)) enum Attacks {}

    /// Prints the table after all attacks of the suite.
    struct AttackTable: SuiteTrait, TestScoping {
        private static let tallies = Mutex<[AttackTally]>([])

        static func add(_ tally: AttackTally) { tallies.withLock { $0.append(tally) } }

        func provideScope(
            for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
        ) async throws {
            do { try await function() } catch {
                Self.print()
                throw error
            }
            Self.print()
        }

        private static let columns: [(title: String, count: @Sendable (AttackTally) -> Int)] = [
            ("times", { $0.attacks }), ("right", { $0.looks(.right) }), ("error", { $0.looks(.refused) - $0.corruptSlots }),
            ("corrupt", { $0.corruptSlots }),
            ("hidden", { $0.looks(.hidden) }), ("older", { $0.looks(.older) }), ("WRONG", { $0.looks(.wrong) }),
            ("wrong lists", { $0.lists[.wrong] ?? 0 }), ("changes refused", { $0.refusedChanges }), ("made", { $0.madeChanges }),
        ]

        private static func print() {
            let all = tallies.withLock(\.self)
            // Attacks with the same name before a colon share one line.
            let groups = Dictionary(grouping: all) { String($0.name.prefix { $0 != ":" }) }.sorted { $0.key < $1.key } + [("all", all)]
            var lines: [[String]] = [["attack"] + columns.map(\.title)]
            lines += groups.map { name, tallies in [name] + columns.map { column in String(tallies.reduce(0) { $0 + column.count($1) }) } }
            let text = lines.map { "| \($0.joined(separator: " | ")) |" }
            Swift.print(([text[0], "|---|" + columns.map { _ in "---:|" }.joined()] + text.dropFirst()).joined(separator: "\n"))
        }
    }

    extension Trait where Self == AttackTable {
        static var attackTable: Self { AttackTable() }
    }

    /// Returns the bit masks for the byte at a position.
    /// A long run checks every bit, other runs check one bit that the position selects.
    func masks(at position: Int) -> [UInt8] { isLong ? (0..<8).map { 1 << $0 } : [1 << (position % 8)] }
#endif
