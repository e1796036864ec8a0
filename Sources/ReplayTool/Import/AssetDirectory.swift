import EventStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A directory beside an exported file, with the files of assets. Each file is named by its hash.
enum AssetDirectory {
  private static let damagedCode = StoreError.Code.assetDamaged.rawValue
  private static let missingCode = StoreError.Code.assetMissing.rawValue

  /// Whether an error of ``bring(_:from:into:)`` concerns only that file; a full disk, for example, concerns
  /// all.
  static func isOfOneFile(_ error: ToolError) -> Bool {
    [damagedCode, missingCode, StoreError.Code.system.rawValue].contains(error.code)
  }

  /// The error for an asset without a target directory.
  static func needed(for asset: AssetReference) -> ToolError {
    ToolError.input(
      "assetsUnplaced", "the export refers to asset \(asset.hash), and JSON lines cannot contain its bytes",
      hint:
        "give --assets with a directory: the files of assets go there, and `replay import --assets` reads them"
    )
  }

  /// Copies an asset to a directory, unless it exists there.
  ///
  /// - Parameter progress: called before the start, and after each piece with the bytes copied so far. Its
  ///   error ends the copy.
  static func copy(
    _ asset: AssetReference, of store: LocalStore, to directory: String, progress: (Int) throws -> Void
  ) throws {
    try progress(0)
    let path = "\(directory)/\(asset.hash)"
    if access(path, F_OK) == 0 { return }
    var reader = try store.openAsset(asset)
    let copy = try PartialFile(path)
    while let piece = try reader.next() {
      try copy.output.bytes(piece)
      try progress(piece.count)
    }
    try copy.finish()
  }

  static func make(_ directory: String) throws {
    guard mkdir(directory, 0o777) != 0, errno != EEXIST else { return }
    throw ToolError.input(
      "fileUnwritable", "the directory “\(directory)” cannot be made: \(String(cString: strerror(errno)))",
      hint: "give a path in a directory that may be written")
  }

  /// Throws if the directory does not exist.
  static func check(_ directory: String) throws {
    var status = stat()
    guard stat(directory, &status) != 0 || status.st_mode & S_IFMT != S_IFDIR else { return }
    throw ToolError.input(
      "assetsUnplaced", "“\(Display.plain(directory))” is not a directory",
      hint: "give --assets with the directory that `replay export --assets` wrote")
  }

  static func has(_ asset: AssetReference, _ directory: String) -> Bool {
    access("\(directory)/\(asset.hash)", R_OK) == 0
  }

  /// Imports an asset from a directory into a store.
  static func bring(_ asset: AssetReference, from directory: String?, into store: LocalStore) async throws {
    guard let directory else {
      throw ToolError.input(
        missingCode, "asset \(asset.hash) is not in the store",
        hint: "give --assets with the directory that `replay export --assets` wrote")
    }
    let path = "\(directory)/\(asset.hash)"
    guard access(path, R_OK) == 0 else {
      throw ToolError.input(
        missingCode, "asset \(asset.hash) is not in “\(directory)”",
        hint: "give the directory that `replay export --assets` wrote")
    }
    guard try await store.importAsset(file: path) == asset else {
      throw ToolError.input(
        damagedCode, "the bytes of the file “\(path)” do not match its name",
        hint: "copy the directory again")
    }
  }
}
