// Values that are valid for some time only.
// snippet.hide
import LocalData

struct Forecast: Codable, Sendable { var degrees: Double }

let weather = StorageKeyGroup(owner: "Weather", domain: .memory("weather"))
let router = StorageRouter(configuration: .inMemory())

// snippet.show
let forecast: StorageKey<Forecast> = weather.key("forecast", "The last forecast").expiring(after: .seconds(3_600))

try await router.set(Forecast(degrees: 21), for: forecast)  // an hour from now on
try await router.set(Forecast(degrees: 22), for: forecast, lifetime: .seconds(60))  // this one a minute

let fresh = try await router.value(for: forecast)  // nil once its time is over, as if it were absent
let stale = try await router.storedValue(for: forecast)  // also then: with isExpired, expiresAt, modifiedAt
// snippet.hide
guard fresh?.degrees == 22, stale?.isExpired == false, stale?.expiresAt != nil else { fatalError() }
