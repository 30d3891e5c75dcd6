// Re-exports the types of the module BackendContract that are part of this product's public interface.
@_exported public import struct BackendContract.IntegrityProgress
@_exported public import struct BackendContract.IntegrityReport
