/// The owner that a sealed store names in its header, which can be read without a key.
///
/// The header is authenticated only with a key, so this proves nothing against an attacker. It prevents that a program, or a person with a
/// wrong application id, destroys the store of another application.
package enum StoreOwner: Hashable, Sendable {
    /// The header is readable and names this application, kind and scope.
    case named(StoreContext)
    /// The header cannot be read. The set has the contexts that were found among the bytes of the file and its log.
    case damaged(Set<StoreContext>)

    /// The applications that the file names.
    package var applications: Set<String> {
        switch self {
        case .named(let context): [context.application]
        case .damaged(let traces): Set(traces.map(\.application))
        }
    }
}
