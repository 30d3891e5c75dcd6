// Before the first use of the shared router, set where data is stored.
import LocalData

// A program in a user's session: XDG folders and the keyring of the session.
try StorageRouter.bootstrap(.xdg(applicationID: "com.example.app", version: "2.0"))

// A service under systemd.
let service = StorageConfiguration.service(applicationID: "com.example.service", version: "2.0")
// snippet.hide
_ = service
