@main
struct Probe { static func main() {} }
