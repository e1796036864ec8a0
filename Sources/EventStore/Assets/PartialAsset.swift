import LMDB
import OperationFormat

/// The beginning of an asset that is being downloaded, in a file that outlives the process. One at a time has
/// it.
package final class PartialAsset {
  let reference: AssetReference
  /// How many bytes there are.
  package private(set) var byteCount: UInt64
  private let files: AssetFiles
  private let file: OpenFile
  private let path: String

  /// Opens what there is of an asset, or begins it; nil if another opening has it.
  init?(_ reference: AssetReference, _ files: AssetFiles) throws(FileError) {
    let path = "\(files.partialFolder)/\(reference.hash)"
    try files.makeFolder(files.partialFolder)
    let file = try files.calls.openOrCreateFile(path)
    guard try files.calls.lock(file, path) else { return nil }
    // Since it was opened, the task that had it may have published or removed it, and another may have begun
    // it again.
    let own = try files.calls.status(of: file, path)
    guard let found = try files.calls.status(of: path), found.device == own.device, found.inode == own.inode
    else { return nil }
    byteCount = own.byteCount
    self.reference = reference
    self.files = files
    self.file = file
    self.path = path
  }

  /// Adds the next bytes.
  package func append(_ bytes: [UInt8]) throws {
    do {
      try bytes.withUnsafeBytes { bytes in
        try files.calls.write(file, at: byteCount, bytes, path)
      }
    } catch {
      throw StoreError.translate(error)
    }
    byteCount += UInt64(bytes.count)
  }

  /// Reads bytes at an offset: fewer than asked for only at the end.
  package func read(at offset: UInt64, count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    do {
      let found = try bytes.withUnsafeMutableBytes { buffer in
        try files.calls.read(file, at: offset, into: buffer, path)
      }
      bytes.removeLast(count - found)
    } catch {
      throw StoreError.translate(error)
    }
    return bytes
  }

  /// Cuts it to a size; the next bytes are added there.
  package func truncate(to count: UInt64) throws {
    do {
      try files.calls.truncate(file, to: count, path)
    } catch {
      throw StoreError.translate(error)
    }
    byteCount = count
  }

  /// Whether its bytes are those of the asset.
  ///
  /// - Parameter progress: called after each piece of at most 256 KiB; what it throws ends the work.
  package func isWhole(progress: (Int) throws -> Void = { _ in }) throws -> Bool {
    do {
      return try files.hash(file, path, progress: progress) == reference
    } catch {
      throw StoreError.translate(error)
    }
  }

  /// Gives it, which is whole, its asset's name.
  package func publish() throws {
    do {
      if files.isSynced { try files.calls.sync(file, path) }
      try files.publish(path, as: reference.hash)
    } catch {
      throw StoreError.translate(error)
    }
  }
}
