import Foundation
import LocalData
import Testing

@testable import LocalDataAuthoring

/// The values that a fixture contains without any code of the user.
@Suite struct SampleValueTests {
    enum Color: String, Codable, CaseIterable { case red, green }
    struct Nested: Codable, Hashable { var number: Double }
    struct Everything: Codable {
        var text: String
        var flag: Bool
        var number: Int
        var date: Date
        var data: Data
        var id: UUID
        var list: [Nested]
        var map: [String: Int]
        var maybe: String?
    }
    struct Painted: Codable {
        var color: Color
        var title: String
    }
    struct Refusing: Codable {
        init(from decoder: any Decoder) throws {
            throw DecodingError.dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: "No value is accepted."))
        }
    }

    @Test func `a sample has every property, also optional ones`() throws {
        let sample = try #require(SampleValues.value(of: Everything.self))
        #expect(sample.text == "1" && sample.flag && sample.number == 1 && sample.maybe == "1")
        #expect(sample.data == Data("data".utf8) && sample.list == [Nested(number: 1.5)] && sample.map == ["name": 1])
        #expect(sample.date == Date(timeIntervalSinceReferenceDate: 700_000_000))
    }

    @Test func `a property that refuses the sample keeps its empty value`() throws {
        let sample = try #require(SampleValues.value(of: Painted.self))
        #expect(sample.color == .red && sample.title == "1")
        #expect(SampleValues.value(of: Color.self) == .red)
    }

    @Test func `values without properties have samples, and a type that refuses every value has none`() {
        #expect(SampleValues.value(of: String.self) == "1")
        #expect(SampleValues.value(of: [Int].self) == [1])
        #expect(SampleValues.value(of: Refusing.self) == nil)
    }
}
