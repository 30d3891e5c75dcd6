/// A document of about 2 kB: the journal of a sailor who uses the program's forecasts.
enum Journal {
    /// Returns the text of the journal.
    /// - Parameter hut: The name of the hut in the last entry. The demonstration uses a unique name. It searches all
    ///   files for the name, to show where the journal can be read.
    static func text(hut: String) -> String {
        let entries = days + [(place: "The hut", entry: "The key of the hut is under the stone: \(hut)")]
        return "# Journal\n" + entries.map { "\n## \($0.place)\n\n\($0.entry)\n" }.joined()
    }

    private static let days = [
        (
            place: "Bergen, Monday",
            entry: """
            Rain at six, as promised, and rain at noon, which was not. Barometer 998 and falling. The harbour master says that a forecast is \
            "a letter from somebody who has never been here". Stayed in, dried the sails in the boathouse, and mended the one that tore off Stad. \
            Wind south-west 14 m/s in the gusts; the forecast had 11.
            """
        ),
        (
            place: "Ålesund, Wednesday",
            entry: """
            Left at four to be north of Stad before the turn. Swell from the west, three metres and long, and hardly a breeze on top of it. Forecast \
            and sea agree for once. Saw two gannets, one ferry and no other fool. Barometer 1004, rising slowly. In by seven, to a berth beside a \
            baker's, which opens at six: noted for the way back.
            """
        ),
        (
            place: "Kristiansund, Friday",
            entry: """
            Fog from Hustadvika on. Nothing about it in the evening's forecast; all about it in the morning's, when we could read it only by holding the \
            paper close. Sounded the horn every two minutes for five hours. Visibility 200 m, later 50. Water 9°, air 8°, crew silent.
            """
        ),
        (
            place: "Smøla, Saturday",
            entry: """
            In harbour, with a headwind of 16 m/s that was in every forecast since Tuesday. Counted islands from the hill: 200, and then a shower came. The shop sells \
            bread, rope and newspapers of the day before yesterday; read in one of them what the weather would be like today, and it was. Changed the oil, \
            looked for the drip under the sink, found it, lost the nut. Barometer 1011 at night, and a sky full of stars, which nobody had forecast.
            """
        ),
        (
            place: "Trondheim, Sunday",
            entry: """
            Sun, and the wind from behind: 22 nautical miles in four hours, the best of the year. Forecast said variable 3. Washed everything that could be \
            washed. What the program should have: the tide beside the wind, and the hour at which a forecast was made; an old one looks exactly like a \
            new one. To write to them about it.
            """
        ),
    ]
}
