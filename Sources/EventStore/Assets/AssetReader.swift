public import OperationFormat

/// An asset that is open for reading: a stream, and any part of it.
///
/// ```swift
/// var photo = try store.openAsset(reference)
/// while let piece = try photo.next() { send(piece) }
/// ```
///
/// It is valid as long as it is held: a file that is collected, or replaced, meanwhile is read to its end as
/// it was.
public struct AssetReader: ~Copyable {
  /// Which asset it is, and how many bytes it has.
  public let reference: AssetReference
  private let files: AssetFiles
  private let file: OpenFile
  private let path: String
  private var offset: UInt64 = 0
  private var hasher = ContentHasher()

  init(_ reference: AssetReference, _ files: AssetFiles, _ file: consuming OpenFile, _ path: String) {
    self.reference = reference
    self.files = files
    self.file = file
    self.path = path
  }

  /// Reads the next piece.
  ///
  /// - Parameter bytesMax: the most bytes that it has; less than 1 counts as 1.
  /// - Returns: nil at the end. Then all pieces together have the asset's hash.
  /// - Throws: ``StoreError`` `assetDamaged` at the end, if they have not: what was read must not be used;
  ///   `system`.
  public mutating func next(bytesMax: Int = 256 << 10) throws -> [UInt8]? {
    let bytesMax = max(1, bytesMax)
    let piece = try read(at: offset, count: bytesMax)
    guard !piece.isEmpty else {
      guard offset == reference.byteCount, hasher.finish() == reference.hash else {
        throw StoreError.damagedAsset(reference, "has other bytes")
      }
      return nil
    }
    hasher.update(piece.span.bytes)
    offset += UInt64(piece.count)
    return piece
  }

  /// Reads a part of it. Only ``next(bytesMax:)`` compares what is read with the asset's hash.
  ///
  /// - Parameters:
  ///   - offset: where it begins, in bytes.
  ///   - count: the most bytes that it has.
  /// - Returns: fewer bytes at the end, none beyond it.
  /// - Throws: ``StoreError`` `assetDamaged` if the file has got shorter, `system`.
  public func read(at offset: UInt64, count: Int) throws -> [UInt8] {
    guard offset < reference.byteCount, count > 0 else { return [] }
    let wanted = Int(min(UInt64(count), reference.byteCount - offset))
    var bytes = [UInt8](repeating: 0, count: wanted)
    let found: Int
    do {
      found = try bytes.withUnsafeMutableBytes { try files.calls.read(file, at: offset, into: $0, path) }
    } catch {
      if let error = error as? FileError, error.isUnreadable {
        throw StoreError.damagedAsset(reference, "cannot be read: \(error.storeError.message)")
      }
      throw StoreError.translate(error)
    }
    guard found == wanted else {
      throw StoreError.damagedAsset(reference, "has only \(offset + UInt64(found)) bytes")
    }
    return bytes
  }
}
