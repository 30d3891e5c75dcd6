public import LocalData

extension StorageDirectories {
    /// Returns these folders with a folder for the databases of caches. Use it if the program lists its folders itself.
    ///
    /// ```swift
    /// let directories = StorageDirectories(
    ///     preferences: "/srv/shop/settings", data: "/srv/shop/data", state: "/srv/shop/state", locks: "/srv/shop/locks"
    /// ).caching(in: "/srv/shop/caches")  // without it, the first read of a cache in a database throws
    /// ```
    ///
    /// The folders of `StorageConfiguration.xdg(applicationID:version:)` have `<XDG_CACHE_HOME>/<id>/LocalData`, those
    /// of `StorageConfiguration.service(applicationID:version:)` the first folder of `CACHE_DIRECTORY`, and
    /// `StorageDirectories(root:)` has the folder `caches` in the root. Folders that the program lists have none.
    /// - Parameter folder: The absolute path of a folder that belongs to the program alone, and is not the folder of the
    ///   data. `forgetEverything()` destroys all databases in it. If it is the folder of other databases of
    ///   the program, each use of a cache throws `unavailable`.
    public func caching(in folder: String) -> StorageDirectories {
        var directories = self
        directories.caches = folder
        return directories
    }
}
