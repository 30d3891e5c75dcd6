// Values that expire.
// snippet.hide
import LocalData

struct Forecast: Codable, Sendable { var degrees: Double }

let weather = StorageKeyGroup(owner: "Weather", domain: .memory("weather"))
let storage = StorageRouter(configuration: .inMemory())

// snippet.show
let forecast: StorageKey<Forecast> = weather.key("forecast", "The last forecast").expiring(after: .seconds(3_600))

try await storage.set(Forecast(degrees: 21), for: forecast)  // expires in an hour
try await storage.set(Forecast(degrees: 22), for: forecast, lifetime: .seconds(60))  // expires in a minute

let fresh = try await storage.value(for: forecast)  // nil once it has expired
let stale = try await storage.storedValue(for: forecast)  // also an expired value, with isExpired, expiresAt, modifiedAt
// snippet.hide
guard fresh?.degrees == 22, stale?.isExpired == false, stale?.expiresAt != nil else { fatalError() }
