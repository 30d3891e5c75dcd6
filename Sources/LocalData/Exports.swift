// The few types of the contract and of the keyring that programs name. Authors of backends import BackendContract.
@_exported public import enum BackendContract.MutationOutcome
@_exported public import enum BackendContract.ProtectionLevel
@_exported public import struct KeyringBackend.KeyringStyle
