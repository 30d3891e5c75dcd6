// Replaced by the first file of this room.
@main struct Placeholder { static func main() {} }
