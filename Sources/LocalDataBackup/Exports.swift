// The types of the contract that callers of this product name.
@_exported public import struct BackendContract.IntegrityProgress
@_exported public import struct BackendContract.IntegrityReport
