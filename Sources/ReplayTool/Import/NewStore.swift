import EventStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A store that an import may create. If nothing was imported, it is removed.
struct NewStore {
  private let directory: String
  /// Whether the store existed before the import.
  private let wasThere: Bool
  private let hadDirectory: Bool

  init(directory: String) {
    self.directory = directory
    wasThere = access("\(directory)/data.mdb", F_OK) == 0
    hadDirectory = access(directory, F_OK) == 0
  }

  /// Removes the store's files, if the store did not exist before and has neither transactions nor zones.
  func removeIfEmpty() {
    guard !wasThere, access("\(directory)/data.mdb", F_OK) == 0, isEmpty else { return }
    for name in StoreFiles.names { unlink("\(directory)/\(name)") }
    // The files of assets may exist, each in a directory named by the first digits of its hash.
    removeFiles(in: "\(directory)/assets", depth: 2)
    if !hadDirectory { rmdir(directory) }
  }

  private var isEmpty: Bool {
    var configuration = StoreConfiguration()
    configuration.isReadOnly = true
    configuration.createsStore = false
    do {
      let store = try LocalStore(
        directory: directory, durability: .durable, configuration: configuration)
      defer { store.close() }
      return try store.read { try $0.lastPosition() == .start && $0.zones().isEmpty }
    } catch {
      // An unreadable store is kept: its contents are unknown.
      return false
    }
  }

  private func removeFiles(in directory: String, depth: Int) {
    guard let names = try? OpenFile(directory: directory).names(directory) else { return }
    for name in names {
      let path = "\(directory)/\(name)"
      if unlink(path) != 0, depth > 0 { removeFiles(in: path, depth: depth - 1) }
    }
    rmdir(directory)
  }
}
