extension Arbitrary where Value == Bool {
    /// Booleans. If `true` breaks a property, the search for a simpler counterexample (shrinking) tries `false`.
    package static var flag: Arbitrary { .one(of: [false, true]) }
}

extension Arbitrary where Value: FixedWidthInteger {
    /// All numbers, with frequent edge cases. A number that breaks a property shrinks towards zero: the search for a
    /// simpler counterexample tries numbers that are nearer to zero.
    package static var number: Arbitrary {
        let edges: [Value] = [0, 1, .max, .min, .max - 1, .max / 2 + 1, 10, 127, 128, 255 & .max]
        return Arbitrary { generator, _ in
            let isEdge = Bool.random(using: &generator)
            let drawn = isEdge ? edges.randomElement(using: &generator) ?? 0 : Value(truncatingIfNeeded: generator.next())
            return towards(0, from: drawn)
        }
    }

    /// Numbers of a range. A number that breaks a property shrinks towards the lower end of the range.
    package static func number(in range: ClosedRange<Value>) -> Arbitrary {
        Arbitrary { generator, _ in towards(range.lowerBound, from: .random(in: range, using: &generator)) }
    }

    /// Returns a number that shrinks towards a target. The search for a simpler counterexample tries the target first,
    /// then numbers that are nearer and nearer to `value`: their distance from it is halved each time.
    private static func towards(_ target: Value, from value: Value) -> Shrinkable<Value> {
        Shrinkable(value) {
            // The distance may exceed the type. The difference of the halves does not.
            var distance = value / 2 - target / 2
            var candidates: [Value] = value == target ? [] : [target]
            while distance != 0 {
                candidates.append(value - distance)
                distance /= 2
            }
            if value != target { candidates.append(value > target ? value - 1 : value + 1) }
            var seen: Set<Value> = [value]
            return candidates.filter { seen.insert($0).inserted }.map { towards(target, from: $0) }
        }
    }
}

extension Arbitrary where Value == Double {
    /// All doubles, with frequent edge cases: both zeros, the infinities, NaN with payloads, the largest, the smallest,
    /// halves and large whole numbers.
    package static var number: Arbitrary {
        let edges: [Double] = [
            0, 1, -0.0, 0.5, -1, 0.1, 1e15, 9_007_199_254_740_992, 1.7976931348623157e308, .leastNonzeroMagnitude, 2.2250738585072014e-308,
            .infinity,
            -.infinity,
            .nan, Double(bitPattern: 0x7FF8_0000_0000_0001), Double(bitPattern: 0xFFF8_0000_0000_0000),
            Double(bitPattern: 0x7FF0_0000_0000_0001),
        ]
        return .any(of: [.one(of: edges), Arbitrary<UInt64>.number.map { Double(bitPattern: $0) }])
    }
}

extension Arbitrary where Value == Unicode.Scalar {
    /// Scalars that are easily mishandled, and plain letters.
    /// They include markup, control characters, non-characters, combining marks, text that is not in Unicode's form C,
    /// and scalars outside the first plane.
    package static var hostile: Arbitrary {
        .one(
            of: Array(
                "ab <>&\"'/\\]\n\t\r\u{0}\u{1}\u{1F}\u{7F}\u{85}é\u{301}\u{C5}\u{212B}\u{AC00}\u{1100}\u{1161}\u{E000}\u{FFFE}\u{FFFD}\u{FEFF}\u{2028}\u{202E}漢😀\u{10FFFF}"
                    .unicodeScalars))
    }

    /// Scalars that any XML document may contain, and that XML readers and writers treat specially.
    package static var markup: Arbitrary { .one(of: Array("ab<>&\"' ]\r\n\té\u{301}\u{2028}😀".unicodeScalars)) }

    /// Printable ASCII letters and digits.
    package static var letter: Arbitrary { .one(of: Array("abcxyz019".unicodeScalars)) }
}

extension Arbitrary where Value == String {
    /// Texts of the given scalars. A text that breaks a property shrinks to shorter texts first, then to texts with
    /// simpler scalars.
    package static func text(
        _ scalars: Arbitrary<Unicode.Scalar> = .hostile, _ lengths: ClosedRange<Int> = 0...20
    ) -> Arbitrary {
        scalars.list(lengths).map { scalars in
            var text = String.UnicodeScalarView()
            text.append(contentsOf: scalars)
            return String(text)
        }
    }
}

extension Arbitrary where Value == [UInt8] {
    /// Arrays of bytes, with frequent edge cases.
    package static func bytes(_ lengths: ClosedRange<Int> = 0...64) -> Arbitrary { Arbitrary<UInt8>.number.list(lengths) }
}

/// Texts that formats, shells and parsers treat specially.
package let hostileTexts: [String] = [
    "", " ", "\t", "\n", "\r\n", "\\", #"\n"#, #"ends with \"#, "$null", "null", "true", "nil", "0", "-0", "1e999", "\"", "'",
    "<![CDATA[", "]]>",
    "&amp;", "<plist>", "${HOME}", "$(id)", "%s%n", "../x", "a/b", "file:x", "e\u{301}", "\u{E9}", "\u{FEFF}x", "\u{202E}x",
    "\u{1F468}\u{200D}\u{1F469}",
    "\u{10FFFF}", "\u{FFFD}", "\u{FFFE}", "\u{1}", "\u{7F}", "\u{85}", "\u{2028}", "a\0b", "{\"a\":1}", "[1]", "LD1:AAAA",
    "LocalData-key-1 0 0",
    String(repeating: "x", count: 5_000),
]
