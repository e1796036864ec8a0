/// Reads the pages of a data file without mapping it.
struct PageFile {
  let descriptor: Int32
  let path: String
  let pageBytes: Int

  /// How many whole pages the file has.
  let pageCount: UInt64

  /// Reads consecutive pages; nil if they are not all inside the file.
  func read(_ page: UInt64, count: Int = 1) throws(LMDBError) -> [UInt8]? {
    guard page < pageCount, UInt64(count) <= pageCount - page else { return nil }
    return try Self.read(descriptor, at: Int(page) * pageBytes, count: count * pageBytes, path)
  }

  /// Reads bytes of a file; nil if the file ends before them.
  static func read(
    _ descriptor: Int32, at offset: Int, count: Int, _ path: String
  ) throws(LMDBError) -> [UInt8]? {
    var failure: LMDBError?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
      do throws(LMDBError) {
        initializedCount = try SystemCalls.read(
          descriptor, at: offset, into: UnsafeMutableRawBufferPointer(buffer), path)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes.count == count ? bytes : nil
  }
}
