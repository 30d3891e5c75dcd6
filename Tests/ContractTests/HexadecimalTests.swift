import BackendContract
import Testing

@Suite struct HexadecimalTests {
    @Test func `every byte is written as two digits, and digits of either case are read`() {
        let all = Array(UInt8.min...UInt8.max)
        let text = hexadecimalText(of: all)
        #expect(text.hasPrefix("000102030405060708090a0b0c0d0e0f10") && text.hasSuffix("fdfeff"))
        #expect(bytes(ofHexadecimal: text) == all)
        #expect(bytes(ofHexadecimal: text.uppercased()) == all)
        #expect(hexadecimalText(of: []).isEmpty && bytes(ofHexadecimal: "") == [])
    }

    @Test(arguments: ["0", "000", "0g", "+1", " 00", "00 ", "0x00", "\u{FF10}\u{FF11}", "e\u{301}0"])
    func `text that is not hexadecimal is refused`(_ text: String) {
        #expect(bytes(ofHexadecimal: text) == nil)
    }
}
