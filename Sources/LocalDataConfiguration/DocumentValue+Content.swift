#if Configuration
    import Configuration
    import Foundation
    import LocalData

    /// Conversions to the types of swift-configuration. They follow its `PropertyListSnapshot` and `JSONSnapshot`: numbers
    /// and booleans are converted if the result is exact. A text is never a number.
    extension DocumentValue {
        /// Returns the value as a configuration type; nil if it has another type.
        func content(as type: ConfigType) -> ConfigContent? {
            switch type {
            case .string: self.string.map(ConfigContent.string)
            case .int: wholeNumber.map(ConfigContent.int)
            case .double: number.map(ConfigContent.double)
            case .bool: flag.map(ConfigContent.bool)
            case .bytes: bytes.map(ConfigContent.bytes)
            case .stringArray: elements(\.string).map(ConfigContent.stringArray)
            case .intArray: elements(\.wholeNumber).map(ConfigContent.intArray)
            case .doubleArray: elements(\.number).map(ConfigContent.doubleArray)
            case .boolArray: elements(\.flag).map(ConfigContent.boolArray)
            case .byteChunkArray: elements(\.bytes).map(ConfigContent.byteChunkArray)
            }
        }

        private func elements<Element>(_ convert: (DocumentValue) -> Element?) -> [Element]? {
            guard let array = self.array else { return nil }
            let converted = array.compactMap(convert)
            return converted.count == array.count ? converted : nil
        }

        private var wholeNumber: Int? { self.boolean.map { $0 ? 1 : 0 } ?? self.integer }

        private var number: Double? {
            switch self {
            case .boolean(let flag): flag ? 1 : 0
            case .integer(let number): Double(exactly: number)
            case .unsigned(let number): Double(exactly: number)
            default: self.double
            }
        }

        private var flag: Bool? { self.boolean ?? self.double.map { $0 != 0 } }

        /// Data; a Base64 text, which is the JSON form of data; or a list of numbers from 0 to 255, which is the JSON
        /// form of `[UInt8]`.
        private var bytes: [UInt8]? {
            switch self {
            case .data(let data): [UInt8](data)
            case .string(let text): Data(base64Encoded: text).map { [UInt8]($0) }
            default: elements { element in element.integer.flatMap { UInt8(exactly: $0) } }
            }
        }
    }
#endif
