import Foundation

// Version 1 of the program. It stores everything as plaintext in the list of the suite "weather".
guard let defaults = UserDefaults(suiteName: "weather") else { fatalError("The suite cannot be opened.") }

defaults.set("Trondheim", forKey: "city")
defaults.set("42", forKey: "refreshMinutes")
defaults.set("wx-4711-secret", forKey: "apiToken")
defaults.set("Rain at six, as promised.", forKey: "journal")
guard defaults.synchronize() else { fatalError("The list cannot be written.") }

print("Stored four values.")
