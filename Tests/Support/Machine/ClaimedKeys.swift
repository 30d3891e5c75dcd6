package import Sealing

extension SealingKey {
    /// Returns the text of this key with the id of another key, as an attacker who can write the file would forge it.
    package func text(claiming other: SealingKey) -> String {
        let parts = text.split(separator: " ")
        return "\(parts[0]) \(other.text.split(separator: " ")[1]) \(parts[2])"
    }
}
