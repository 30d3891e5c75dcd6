#if PostgreSQL
    /// A parameterised statement. It has no name, so it works behind a pooler that gives each transaction another
    /// connection.
    struct ServerStatement: Sendable {
        /// A parameter, sent in PostgreSQL's binary format. The cases name the type that the server uses.
        enum Parameter: Sendable {
            case bytea([UInt8])
            case uuid([UInt8])
            case text(String)
            case int8(Int64)
            case float8(Double?)
            case byteas([[UInt8]])
            case null
        }

        let sql: String
        let parameters: [Parameter]

        init(_ sql: String, _ parameters: [Parameter] = []) { (self.sql, self.parameters) = (sql, parameters) }
    }

    extension ServerStatement.Parameter {
        /// The object id of the type in `pg_type`; 0 lets the server derive the type.
        var type: UInt32 {
            switch self {
            case .bytea: 17
            case .uuid: 2_950
            case .text: 25
            case .int8: 20
            case .float8: 701
            case .byteas: 1_001
            case .null: 0
            }
        }

        /// The binary format of the value, as in the `*send` functions of the server; nil for NULL.
        var bytes: [UInt8]? {
            switch self {
            case .bytea(let bytes), .uuid(let bytes): return bytes
            case .text(let text): return Array(text.utf8)
            case .int8(let number): return withUnsafeBytes(of: number.bigEndian) { Array($0) }
            case .float8(let number): return number.map { withUnsafeBytes(of: $0.bitPattern.bigEndian) { Array($0) } }
            case .byteas(let elements): return Self.array(elements)
            case .null: return nil
            }
        }

        /// Encodes an array of type `bytea[]`: dimensions, a flag for NULL, the element type, the length and the lower
        /// bound; then each element with its length.
        private static func array(_ elements: [[UInt8]]) -> [UInt8] {
            var bytes: [UInt8] = []
            func add(_ number: Int) { withUnsafeBytes(of: Int32(number).bigEndian) { bytes.append(contentsOf: $0) } }
            for number in [elements.isEmpty ? 0 : 1, 0, 17] { add(number) }
            guard !elements.isEmpty else { return bytes }
            add(elements.count)
            add(1)
            for element in elements {
                add(element.count)
                bytes.append(contentsOf: element)
            }
            return bytes
        }
    }

    /// The result of one statement, in binary format.
    struct ServerRows: Sendable {
        /// The rows; each column is nil for NULL.
        let rows: [[[UInt8]?]]
        /// The number of rows that a command changed.
        let changed: Int
    }

    extension [[UInt8]?] {
        /// Returns a column that is not NULL; empty bytes otherwise.
        func bytes(_ column: Int) -> [UInt8] { self[column] ?? [] }

        /// Returns a column of the type `bool`.
        func isTrue(_ column: Int) -> Bool { self[column]?.first == 1 }

        /// Returns a column of an integer type.
        func integer(_ column: Int) -> Int64 {
            let bytes = bytes(column)
            return bytes.reduce(bytes.first.map { $0 > 127 } == true ? -1 : 0) { $0 << 8 | Int64($1) }
        }

        /// Returns a column of the type `float8`; 0 for NULL.
        func double(_ column: Int) -> Double { Double(bitPattern: UInt64(bitPattern: integer(column))) }

        /// Returns a column of a text type.
        func text(_ column: Int) -> String { String(decoding: bytes(column), as: UTF8.self) }
    }
#endif
