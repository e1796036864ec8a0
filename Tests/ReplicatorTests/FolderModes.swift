import ChildProcesses
import StoreTesting
import Synchronization
import Testing

@testable import Replicator

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("A folder shared by users with different umasks")
struct FolderModes {
  private let scratch = TemporaryDirectory()
  private var path: String { scratch.path + "/remote" }

  /// The modes of everything below the root, by path, each as `d` or `-` and its octal digits.
  private func modes(_ directory: String = "", into found: inout [String: String]) throws {
    let names = try FolderCalls().names(in: try FolderCalls().openDirectory(path + directory), path)
    for name in names {
      let child = "\(directory)/\(name)"
      var status = stat()
      #expect(lstat(path + child, &status) == 0)
      let isDirectory = status.st_mode & S_IFMT == S_IFDIR
      found[child] = (isDirectory ? "d" : "-") + String(status.st_mode & 0o7777, radix: 8)
      if isDirectory { try modes(child, into: &found) }
    }
  }

  private func modes() throws -> [String: String] {
    var found: [String: String] = [:]
    try modes(into: &found)
    return found
  }

  private func fill(_ umask: String, _ incarnation: UInt128) {
    let arguments = ["fill", path, "\(IncarnationID(rawValue: incarnation))"]
    let child = ChildProcess(program: "RemoteWriter", umask: umask, arguments)
    #expect(child.wait() == .exit(0))
  }

  @Test(
    "all written files have the root's mode, whatever the writer's umask is",
    arguments: [0o700, 0o750, 0o755, 0o770, 0o2775] as [mode_t])
  func isTheRoots(_ mode: mode_t) throws {
    #expect(mkdir(path, 0o700) == 0 && chmod(path, mode) == 0)
    for (index, umask) in ["077", "000", "027"].enumerated() { fill(umask, UInt128(index + 1)) }
    let found = try modes()
    let expected = Set(["d" + String(mode, radix: 8), "-" + String(mode & 0o666, radix: 8)])
    #expect(Set(found.values) == expected, "\(found)")
    // The marker, and for each writer a zone's event, a segment, a chunk and a manifest.
    #expect(found.values.count { $0.hasPrefix("-") } == 1 + 3 * 4)
  }

  @Test("a directory that its creator left closed is opened when the same user writes there again")
  func isMended() throws {
    #expect(mkdir(path, 0o700) == 0 && chmod(path, 0o755) == 0)
    fill("077", 1)
    let whole = try modes()
    let closed = whole.filter { $0.value == "d755" && $0.key != "/tmp" }.keys
    for directory in closed { #expect(chmod(path + directory, 0o700) == 0) }
    fill("077", 1)
    fill("077", 2)
    let mended = try modes().filter { closed.contains($0.key) && $0.value != "d755" }.keys
    // Directories without new files stay as they are: earlier files were already accessible.
    #expect(mended.allSatisfy { $0.contains("assets-") || $0.contains("\(IncarnationID(rawValue: 1))") })
    #expect(!mended.contains("/logs") && !mended.contains("/zones"))
  }

  @Test("only its writer can access a file while it is written")
  func temporaries() async throws {
    let made = try await FolderRemote.create(directory: path)
    #expect(chmod(path, 0o777) == 0)
    let seen = Mutex<[mode_t]>([])
    let temporaries = path + "/tmp"
    let calls = FolderCalls { name in
      guard name.description == "write" else { return nil }
      let names = try? FolderCalls().names(in: FolderCalls().openDirectory(temporaries), temporaries)
      for name in names ?? [] {
        var status = stat()
        if lstat("\(temporaries)/\(name)", &status) == 0 {
          seen.withLock { $0.append(status.st_mode & 0o7777) }
        }
      }
      return nil
    }
    let objects = FolderObjects(directory: path, calls: calls, makeRandom: seededBits(3))
    let name = ObjectName.entry(of: IncarnationID(rawValue: 5), 1)
    #expect(try await objects.putIfAbsent(name, [1, 2, 3]))
    #expect(seen.withLock { $0 } == [0o600])
    #expect(try modes()["/\(name)"] == "-666")
    #expect(try await made.objects.get(name, bytesMax: 3) == [1, 2, 3])
  }

  @Test(
    "writing also works if the file system has no modes",
    arguments: [EPERM, EINVAL, EOPNOTSUPP])
  func withoutModes(_ number: Int32) async throws {
    #expect(mkdir(path, 0o700) == 0 && chmod(path, 0o755) == 0)
    let calls = FolderCalls { $0.description == "fchmod" ? .before(number) : nil }
    let objects = FolderObjects(directory: path, calls: calls, makeRandom: seededBits(3))
    try await objects.create(RemoteID(rawValue: 9))
    #expect(try await FolderRemote.open(directory: path).identity() == RemoteID(rawValue: 9))
  }
}
