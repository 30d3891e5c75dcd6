/// The address and the limits of a PostgreSQL server whose tables several machines share.
///
/// Use a server if more than one machine changes the same values. For one machine, an encrypted database needs no
/// server.
///
/// ```swift
/// var configuration = StorageConfiguration.service(applicationID: "com.example.shop")
/// configuration.keySource = .credential("storage-key")  // rows are sealed before they leave this machine
/// configuration.usePostgreSQL(PostgreSQLServer("postgresql://app@db.example.com/shop", deadline: .seconds(5)))
/// let storage = StorageRouter(configuration: configuration)
/// ```
///
/// A connection is opened at the first use of a key. A call throws `unavailable` if the server does not answer before
/// the deadline.
public struct PostgreSQLServer: Hashable, Sendable {
    /// A URI such as `postgresql://db.example.com/app`, or keywords and values, as libpq accepts them. Libpq reads
    /// missing parts from its environment: `PGSERVICE`, `PGHOST`, `PGPASSFILE` and others. Several hosts are tried in
    /// turn until one accepts writes. Keep passwords out of this text: use a password file or a client certificate.
    ///
    /// A host that does not answer gets an equal share of the deadline, or `connect_timeout` seconds if that is less. The
    /// next connection tries it last. No error contains this text.
    ///
    /// A connection to another machine is always encrypted, and the server's certificate and host name are checked
    /// (`sslmode=verify-full`), whatever this text says. A socket, `localhost`, `::1` or an address of 127.0.0.0/8 is
    /// exempt. Each of several hosts is judged alone.
    public var connection: String

    /// The schema of the tables. It is created at the first use, if the role may create it; see `Docs/Formats.md`.
    public var schema: String

    /// The number of connections of one database for reads and writes. Each database uses one more for lists.
    public var connections: Int

    /// How long a call waits for the server, including attempts to connect again and repeated transactions.
    public var deadline: Duration

    /// The databases that are stored in plain form, so that the server can read names and values. All other databases
    /// are sealed on the client. A database never changes its form.
    public var plainDatabases: Set<String>

    /// Creates the description of a server. Nothing is opened.
    /// - Parameters:
    ///   - connection: See ``connection``; by default the environment of libpq decides.
    ///   - schema: See ``schema``.
    ///   - connections: See ``connections``; at least 2.
    ///   - deadline: See ``deadline``.
    ///   - plainDatabases: See ``plainDatabases``.
    public init(
        _ connection: String = "", schema: String = "localdata", connections: Int = 4, deadline: Duration = .seconds(10),
        plainDatabases: Set<String> = []
    ) {
        (self.connection, self.schema, self.connections) = (connection, schema, connections)
        (self.deadline, self.plainDatabases) = (deadline, plainDatabases)
    }
}
