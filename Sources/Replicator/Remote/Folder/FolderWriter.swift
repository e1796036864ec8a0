internal import OperationFormat

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

extension FolderObjects {
  /// How old a temporary file is that its writer has left, in seconds: a day.
  private static let leftSeconds: Int64 = 86_400

  package func putIfAbsent(_ name: ObjectName, _ bytes: [UInt8]) async throws(RemoteError) -> Bool {
    try await onThread { [self] () throws(RemoteError) in try put(name, bytes) }
  }

  /// Writes an object unless there is one of that name.
  func put(_ name: ObjectName, _ bytes: [UInt8]) throws(RemoteError) -> Bool {
    let mode = try mode()
    let parent = try makeParent(of: name, mode)
    do throws(FileError) {
      if try isThere(name, in: parent) {
        // Whoever put it may not have lived to make it last.
        try calls.sync(parent, path(name))
        return false
      }
    } catch {
      throw error.remoteError
    }
    let temporaries = try openTemporaries(mode)
    let temporary = temporaryName()
    let isPut: Bool
    do throws(FileError) {
      let file = try calls.createFile(temporary, in: temporaries, temporaryPath(temporary))
      try calls.write(file, bytes, temporaryPath(temporary))
      try mode.give(toFile: file, calls, temporaryPath(temporary))
      try calls.sync(file, temporaryPath(temporary))
      isPut = try publish(temporary, file, in: temporaries, as: name, in: parent)
      try calls.sync(parent, path(name))
      if takeSweep() { sweep(temporaries, since: temporary) }
    } catch {
      remove(temporary, in: temporaries)
      throw refusal(error)
    }
    remove(temporary, in: temporaries)
    return isPut
  }

  /// Gives a written file its name, if that is free.
  private func publish(
    _ temporary: String, _ file: borrowing Descriptor, in temporaries: borrowing Descriptor,
    as name: ObjectName, in parent: borrowing Descriptor
  ) throws(FileError) -> Bool {
    do throws(FileError) {
      try calls.link(temporary, in: temporaries, to: name.last, in: parent, path(name))
      return true
    } catch {
      // A network file system repeats a call whose answer was lost, and then tells what the second one met.
      if try isSame(file, as: name, in: parent) { return true }
      switch error.number {
      case EEXIST: return false
      case EPERM, EOPNOTSUPP, ENOSYS, EMLINK: break
      default: throw error
      }
    }
    do throws(FileError) {
      try calls.renameExclusively(temporary, in: temporaries, to: name.last, in: parent, path(name))
      return true
    } catch {
      if try isSame(file, as: name, in: parent) { return true }
      if error.number == EEXIST { return false }
      throw error
    }
  }

  /// Whether a name leads to an open file.
  private func isSame(
    _ file: borrowing Descriptor, as name: ObjectName, in parent: borrowing Descriptor
  ) throws(FileError) -> Bool {
    let own = try calls.status(of: file, path(name))
    do throws(FileError) {
      let found = try calls.status(of: name.last, in: parent, path(name))
      return found.device == own.device && found.inode == own.inode
    } catch {
      if error.number == ENOENT { return false }
      throw error
    }
  }

  private func isThere(_ name: ObjectName, in parent: borrowing Descriptor) throws(FileError) -> Bool {
    do throws(FileError) {
      _ = try calls.status(of: name.last, in: parent, path(name))
      return true
    } catch {
      if error.number == ENOENT { return false }
      throw error
    }
  }

  /// Waits until objects last that were seen: whoever put them may not have lived to make them last.
  package func makeLasting(_ name: ObjectName) async throws(RemoteError) {
    try await onThread { [self] () throws(RemoteError) in
      guard let parent = try openParent(of: name) else { return }
      do throws(FileError) {
        try calls.sync(parent, path(name))
      } catch {
        switch error.number {
        // Who may only read cannot do it: what is there is read all the same.
        case EACCES, EPERM, EROFS, EINVAL, EOPNOTSUPP: return
        default: throw error.remoteError
        }
      }
    }
  }

  /// Opens the folder of temporary files, and makes it if a copying tool has left it out as empty.
  private func openTemporaries(_ mode: FolderMode) throws(RemoteError) -> Descriptor {
    let root = try openRoot()
    let path = "\(directory)/\(Self.temporary)"
    do throws(FileError) {
      return try calls.openDirectory(Self.temporary, in: root, path)
    } catch {
      if error.number != ENOENT { throw error.remoteError }
    }
    do throws(FileError) {
      try calls.makeDirectory(Self.temporary, in: root, path)
    } catch {
      if error.number != EEXIST { throw error.remoteError }
    }
    do throws(FileError) {
      let temporaries = try calls.openDirectory(Self.temporary, in: root, path)
      try mode.give(to: temporaries, calls, path)
      return temporaries
    } catch {
      throw error.remoteError
    }
  }

  /// Takes a temporary file's name away. One that stays is of no harm: nobody reads it.
  private func remove(_ temporary: String, in temporaries: borrowing Descriptor) {
    do throws(FileError) {
      try calls.unlink(temporary, in: temporaries, isOwn: true, temporaryPath(temporary))
    } catch {
      // It is gone already, or it stays.
    }
  }

  /// Removes temporary files that are a day older than one that was written just now: their writers are gone. One that
  /// only slept finds its file missing when it wakes, which is an error, and puts again.
  private func sweep(_ temporaries: borrowing Descriptor, since own: String) {
    guard let now = modifiedSeconds(own, in: temporaries) else { return }
    let names: [String]
    do throws(FileError) {
      names = try calls.names(in: temporaries, "\(directory)/\(Self.temporary)")
    } catch {
      // They stay until another process comes by.
      return
    }
    for name in names where IncarnationID(name) != nil {
      guard let then = modifiedSeconds(name, in: temporaries), now - then > Self.leftSeconds else { continue }
      remove(name, in: temporaries)
    }
  }

  /// When a temporary file was last written; nil if it is none, or gone.
  private func modifiedSeconds(_ temporary: String, in temporaries: borrowing Descriptor) -> Int64? {
    do throws(FileError) {
      let status = try calls.status(of: temporary, in: temporaries, temporaryPath(temporary))
      return status.isRegular ? status.modifiedSeconds : nil
    } catch {
      return nil
    }
  }

  /// 128 random bits: no two writers ever choose the same.
  private func temporaryName() -> String {
    let bits = UInt128(makeRandom()) << 64 | UInt128(makeRandom())
    return IncarnationID(rawValue: bits).description
  }

  private func temporaryPath(_ temporary: String) -> String { "\(directory)/\(Self.temporary)/\(temporary)" }

  /// What a failure to put means: that the medium cannot do it is told as such.
  private func refusal(_ error: FileError) -> RemoteError {
    let isNaming = ["linkat", "renameat2"].contains(error.call.description)
    guard isNaming, [EPERM, EOPNOTSUPP, ENOSYS, EMLINK, EXDEV, EINVAL].contains(error.number) else {
      return error.remoteError
    }
    return RemoteError(
      .unsuitable,
      "the file system of \(directory) can neither link files nor rename them without replacing others",
      hint: "keep the remote on a file system that can, such as ext4, XFS, Btrfs, APFS or NFS; not on FAT",
      underlying: error)
  }
}
