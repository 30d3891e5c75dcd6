import BackendContract
import Foundation
import LocalDataTesting
import LocalDataVocabulary
import TestSupport
import Testing

@testable import LocalData
@testable import LocalDataPlans

/// Applies random chains of schema changes to documents, and to a simple model. Both must give the same values,
/// although the model shares no code with the library.
///
/// The model of a document is a row: a dictionary of texts and numbers. An edit is one schema change.
@Suite(.inTurn, .tags(.campaign)) struct EvolutionLawTests {
    /// A value in a row of the model.
    enum Cell: Hashable, Sendable {
        case text(String)
        case number(Int)

        var document: DocumentValue {
            switch self {
            case .text(let text): .string(text)
            case .number(let number): .integer(Int64(number))
            }
        }
    }

    /// One edit of a random chain. Its effect depends on the attributes that exist when it is applied.
    struct Edit: Sendable {
        let kind: Int
        let first: Int
        let second: Int
    }

    /// The edits of one step, in two forms: as changes such as `AddAttribute` for the library, and as functions for the
    /// model.
    struct Step {
        var verbs: [SchemaPlan.AttributeChange] = []
        var model: [([String: Cell]) -> [String: Cell]] = []
    }

    /// A random chain of steps. Each edit is interpreted against the attributes that the edits before it left.
    struct Chain {
        var steps: [Step] = []
        /// The attributes at each version; true for an attribute that is a number.
        var shapes: [[String: Bool]]

        init(_ begin: [String: Bool], _ edits: [[Edit]]) {
            shapes = [begin]
            var shape = begin
            for (number, part) in edits.enumerated() {
                var step = Step()
                for (index, edit) in part.enumerated() { Self.read(edit, fresh: "n\(number)x\(index)", &shape, &step) }
                steps.append(step)
                shapes.append(shape)
            }
        }

        private static func read(_ edit: Edit, fresh: String, _ shape: inout [String: Bool], _ step: inout Step) {
            let names = shape.keys.sorted()
            func add(_ verb: [SchemaPlan.AttributeChange], _ model: @escaping ([String: Cell]) -> [String: Cell]) {
                step.verbs += verb
                step.model.append(model)
            }
            guard !names.isEmpty, edit.kind > 0 else {
                shape[fresh] = false
                add(
                    SchemaPlan.AttributeChanges.buildExpression(
                        AddAttribute(fresh, attributeType: .string, default: .string("d\(edit.first)")))
                ) { row in
                    var row = row
                    row[fresh] = .text("d\(edit.first)")
                    return row
                }
                return
            }
            let name = names[edit.first % names.count]
            switch edit.kind {
            case 1:
                shape[name] = nil
                add(SchemaPlan.AttributeChanges.buildExpression(RemoveAttribute(name))) { $0.filter { $0.key != name } }
            case 2:
                shape[fresh] = shape[name]
                shape[name] = nil
                add(SchemaPlan.AttributeChanges.buildExpression(UpdateAttribute(name, to: fresh))) { row in
                    Dictionary(uniqueKeysWithValues: row.map { ($0.key == name ? fresh : $0.key, $0.value) })
                }
            case 3:
                // Change an attribute to a text. Every value can become a text, and a text stays unchanged.
                shape[name] = false
                add(SchemaPlan.AttributeChanges.buildExpression(UpdateAttribute(name, attributeType: .string))) { row in
                    row.mapValues { $0 }.merging([name: row[name]].compactMapValues { Self.text($0) }) { $1 }
                }
            case 4:
                // Change an attribute to a number that is computed from the old value: the length of a text, or a
                // number plus one.
                shape[name] = true
                add(
                    SchemaPlan.AttributeChanges.buildExpression(
                        UpdateAttribute(name, attributeType: .integer) { value in
                            switch value {
                            case .string(let text)?: .integer(Int64(text.utf8.count))
                            case .integer(let number)?: .integer(number &+ 1)
                            default: nil
                            }
                        })
                ) { row in
                    row.merging([name: row[name]].compactMapValues { Self.measure($0) }) { $1 }
                }
            default:
                // The new attribute copies another attribute, with the value that it had before the step.
                let other = names[edit.second % names.count]
                guard step.verbs.isEmpty else { return }
                shape[fresh] = shape[other]
                let isNumber = shape[other] == true
                add(
                    SchemaPlan.AttributeChanges.buildExpression(
                        AddAttribute(fresh, attributeType: isNumber ? .integer : .string, optional: true) {
                            $0[DocumentPath([.name(other)])]
                        })
                ) { row in
                    row.merging([fresh: row[other]].compactMapValues(\.self)) { $1 }
                }
            }
        }

        private static func text(_ cell: Cell?) -> Cell? {
            switch cell {
            case .text(let text)?: .text(text)
            case .number(let number)?: .text("\(number)")
            case nil: nil
            }
        }

        private static func measure(_ cell: Cell?) -> Cell? {
            switch cell {
            case .text(let text)?: .number(text.utf8.count)
            case .number(let number)?: .number(number + 1)
            case nil: nil
            }
        }

        /// Returns a row of the model after the steps between two versions.
        func evolved(_ row: [String: Cell], from: Int = 0, to: Int? = nil) -> [String: Cell] {
            steps[from..<(to ?? steps.count)].flatMap(\.model).reduce(row) { $1($0) }
        }

        /// Returns the migrations up to a version.
        func migrations(to end: Int? = nil) -> MigrationChain {
            let first = ModelMigration("V0") {
                AddEntity("rows") {
                    for (name, isNumber) in shapes[0].sorted(by: { $0.key < $1.key }) {
                        AddAttribute(name, attributeType: isNumber ? .integer : .string)
                    }
                }
            }
            return MigrationChain(
                [first]
                    + steps[..<(end ?? steps.count)].enumerated().map { index, step in
                        ModelMigration("V\(index + 1)") { UpdateEntity("rows") { step.verbs } }
                    })
        }

        func catalog(_ domain: StorageDomain, at version: Int) -> TestCatalog {
            TestCatalog([.collection(documents("rows", domain, version: version + 1))])
        }
    }

    struct Case: Sendable {
        let rows: [[String: Cell]]
        let edits: [[Edit]]
        let choice: Int
    }

    private static let begin = ["a": false, "b": false, "c": true]

    private static func cases(rows: ClosedRange<Int>) -> Arbitrary<Case> {
        let row = zip(Arbitrary<String>.text(), .text(), Arbitrary<Int>.number(in: -1_000...1_000)).map { a, b, c in
            ["a": Cell.text(a), "b": Cell.text(b), "c": Cell.number(c)]
        }
        let edit = zip(Arbitrary<Int>.number(in: 0...5), .number(in: 0...9), .number(in: 0...9)).map {
            Edit(kind: $0, first: $1, second: $2)
        }
        return zip(row.list(rows), edit.list(1...3).list(1...4), Arbitrary<Int>.number(in: 0...1_000)).map {
            Case(rows: $0, edits: $1, choice: $2)
        }
    }

    private static func document(_ row: [String: Cell]) -> StoredDocument { StoredDocument(.object(row.mapValues(\.document))) }

    private static func fill(
        _ router: StorageRouter, _ collection: StorageCollection<StoredDocument>, _ rows: [[String: Cell]]
    ) async throws {
        try await router.batch { batch in
            for (index, row) in rows.enumerated() { batch.set(document(row), for: collection.key("\(index)")) }
        }
    }

    private static func check(_ router: StorageRouter, _ domain: StorageDomain, _ rows: [[String: Cell]], _ version: Int) async throws {
        let found = try await router.all(documents("rows", domain, version: version + 1))
        try same(found.count, rows.count, "the number of records")
        for (index, row) in rows.enumerated() { try same(found["\(index)"], document(row), "record \(index)") }
        let older = try await router.recordQueries.pages(documents("rows", domain), .version(version)).reduce(0) {
            $0 + $1.entries.count
        }
        try same(older, 0, "records that still have the older version")
    }

    @Test func `the schema changes of a plan, applied to documents, give the same result as the model`() async {
        await forAll(Self.cases(rows: 1...3), count: 300) { one in
            let chain = Chain(Self.begin, one.edits)
            for row in one.rows {
                var document = Self.document(row)
                for (index, step) in chain.steps.enumerated() {
                    let context = EvolutionContext(entity: "rows", record: "1", storedVersion: 1, targetVersion: index + 2)
                    try step.verbs.apply(to: &document, context)
                }
                try same(document, Self.document(chain.evolved(row)), "the document")
            }
        }
    }

    @Test func `a migration plan over a store gives the same records as the model, from any start version`() async {
        await forAll(Self.cases(rows: 1...4), count: 60) { one in
            let chain = Chain(Self.begin, one.edits)
            let machine = TestMachine()
            let domain = StorageDomain.encryptedSQLite(database: "main")
            let start = one.choice % (chain.steps.count + 1)
            let old = machine.launch()
            try await old.registerCatalog(chain.catalog(domain, at: start), migrationPolicy: .incremental(chain.migrations(to: start)))
            let rows = one.rows.map { chain.evolved($0, to: start) }
            try await Self.fill(old, documents("rows", domain, version: start + 1), rows)
            let router = machine.launch()
            let end = chain.steps.count
            let report = try await router.registerCatalog(chain.catalog(domain, at: end), migrationPolicy: .incremental(chain.migrations()))
            try same(report.plan.steps.count, end - start, "the number of steps")
            try await Self.check(router, domain, rows.map { chain.evolved($0, from: start) }, end)
        }
    }

    @Test func `a killed migration plan is completed by the next program and gives the same records as the model`() async {
        await forAll(Self.cases(rows: 1...3), count: 20) { one in
            let chain = Chain(Self.begin, one.edits)
            let domain = StorageDomain.encryptedSQLite(database: "main")
            // With 16 records in a page, 40 rows are more than two pages.
            let rows = (0..<40).map { one.rows[$0 % one.rows.count] }
            let machine = TestMachine { $0.pageSize = 16 }
            try await Self.fill(machine.launch(), documents("rows", domain), rows)
            let end = chain.steps.count
            let killed = machine.launch()
            _ = try await killed.count(in: documents("rows", domain))
            for backend in machine.backends(of: domain) {
                backend.inject(one.choice % 2 == 0 ? .stop : .stopAfterwards, at: 1 + one.choice / 2 % (4 * end), of: .apply)
            }
            let isKilled =
                (try? await killed.registerCatalog(chain.catalog(domain, at: end), migrationPolicy: .incremental(chain.migrations())))
                == nil
            machine.cut()
            let router = machine.launch()
            let report = try await router.registerCatalog(chain.catalog(domain, at: end), migrationPolicy: .incremental(chain.migrations()))
            try hold(isKilled || report.plan.steps.isEmpty == true, "a run that was not killed left steps")
            try await Self.check(router, domain, rows.map { chain.evolved($0) }, end)
        }
    }
}
