// `import LocalData` alone is enough: the contract and the public types of the backends come with it.
@_exported public import BackendContract
@_exported public import KeyringBackend
@_exported public import MemoryBackend
