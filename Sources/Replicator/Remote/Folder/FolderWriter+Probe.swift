#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

extension FolderWriter {
  /// Checks that the file system does what a remote relies on: of two files that are put under one name the second is
  /// refused, and the first can be read whole.
  ///
  /// All of it happens in the folder of temporary files, under random names: nobody reads there, and what a crash leaves
  /// goes after a day. Nothing waits for the disk.
  ///
  /// - Throws: ``RemoteError`` `unsuitable` if it does not; as ``put(_:_:)`` if that cannot be found out.
  func probe() throws(RemoteError) {
    let mode = try tree.mode()
    let temporaries = try openTemporaries(mode)
    let names = temporaryNames(3)
    let result: Result<String?, FileError>
    do throws(FileError) {
      result = .success(try fault(names[0], names[1], names[2], in: temporaries, mode))
    } catch {
      result = .failure(error)
    }
    for name in names { remove(name, in: temporaries) }
    switch result {
    case .success(nil): return
    case .success(let fault?):
      throw RemoteError(
        .unsuitable, "the file system of \(tree.directory) cannot keep a remote: \(fault)",
        hint:
          "keep the remote on a file system that gives a name to one of many files, such as ext4, XFS, Btrfs, APFS "
          + "or NFS; not in a folder that a service copies between machines")
    case .failure(let error): throw refusal(error)
    }
  }

  /// What the file system does wrong; nil if nothing.
  private func fault(
    _ first: String, _ second: String, _ target: String, in temporaries: borrowing OpenFile,
    _ mode: FolderMode
  ) throws(FileError) -> String? {
    let path = temporaryPath(target)
    for (name, isFirst) in [(first, true), (second, false)] {
      let file = try calls.createFile(name, in: temporaries, temporaryPath(name))
      try fill(file, name, Self.probed(name), mode, isSynced: false)
      let isPut = try publish(name, file, in: temporaries, as: target, in: temporaries, path)
      if isPut != isFirst {
        return isFirst ? "it says that a new name is taken" : "it replaces a file whose name another one gets"
      }
    }
    let file = try calls.openFile(target, in: temporaries, path)
    let bytes = Self.probed(first)
    guard try calls.read(file, bytes.count + 1, path) == bytes else {
      return "what was just written there reads as something else"
    }
    return nil
  }

  /// The content of a file: as many bytes for each name, and other ones.
  private static func probed(_ name: String) -> [UInt8] { Array("probe \(name)\n".utf8) }
}
