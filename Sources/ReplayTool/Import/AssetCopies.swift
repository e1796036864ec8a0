import EventStore

/// Copies the files of assets beside an exported file, and counts those that are not copied.
struct AssetCopies {
  let store: LocalStore
  /// The target directory; nil to copy nothing.
  let directory: String?
  let progress: Progress
  /// Assets that are here and were not copied.
  var here: UInt64 = 0
  /// Assets that are not here.
  var gone: UInt64 = 0
  /// Assets whose file is damaged; for records, also those that are not here.
  private(set) var failures = AssetFailures()
  private var bytes: UInt64 = 0

  init(store: LocalStore, directory: String?, progress: Progress) {
    self.store = store
    self.directory = directory
    self.progress = progress
  }

  /// Copies an asset, or notes why that is impossible.
  ///
  /// - Returns: false if there is no target directory.
  mutating func copy(_ asset: AssetReference) throws -> Bool {
    guard let directory else { return false }
    guard !failures.contains(asset) else { return true }
    do {
      try AssetDirectory.copy(asset, of: store, to: directory) { count in
        bytes += UInt64(count)
        try progress.update("copying assets, bytes", done: bytes)
      }
    } catch let error as StoreError where [.assetMissing, .assetDamaged].contains(error.code) {
      failures.add(asset, error.message)
    }
    return true
  }

  func tellCounts(_ console: Console) throws {
    if here > 0 {
      try console.errors.line(
        "note: \(Display.count(here, "asset")) not included: --assets DIRECTORY copies the files")
    }
    if gone > 0 {
      let verb = gone == 1 ? "is" : "are"
      try console.errors.line("note: \(Display.count(gone, "asset")) \(verb) not here and not included")
    }
  }
}
