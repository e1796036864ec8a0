/// What was copied of a store so far.
public struct BackupReport: Hashable, Sendable {
  /// Bytes of the data file that were written.
  public internal(set) var dataBytes: UInt64 = 0
  /// Assets that were copied, and their bytes.
  public internal(set) var assets = 0
  public internal(set) var assetBytes: UInt64 = 0
  /// Assets that an earlier copy in the same directory had.
  public internal(set) var assetsKept = 0
  /// Assets that the log names and that the store does not have.
  public internal(set) var assetsMissing = 0
  /// Assets that were not copied, since their files in the store are damaged.
  public internal(set) var assetsDamaged = 0
}
