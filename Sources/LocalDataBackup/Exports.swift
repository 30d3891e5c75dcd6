// Types of BackendContract that appear in the public API of this product.
@_exported public import struct BackendContract.IntegrityProgress
@_exported public import struct BackendContract.IntegrityReport
