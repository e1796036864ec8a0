import LMDB
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("A directory or file that is not a store, or that this process may not open")
struct ForeignFileTests {
  let directory = TemporaryDirectory()
  private var file: String { directory("data.mdb") }

  private func openingCode(_ options: Environment.Options = .test()) -> LMDBError.Code? {
    thrownCode { _ = try Environment(directory: directory.path, options: options) }
  }

  @Test("another file is not a store", arguments: [1, 151, 152, 4095, 4096, 8192, 40_000])
  func otherFile(byteCount: Int) {
    for byte in [0, 0x41, 0xFF] as Bytes {
      writeFile(file, Bytes(repeating: byte, count: byteCount))
      #expect(openingCode() == .notAStore)
    }
  }

  @Test("a file of another version is refused with its version")
  func otherVersion() throws {
    _ = try SampleStore(in: directory.path, seed: 1)
    patchFile(file, at: 20, [2])
    #expect(openingCode() == .versionMismatch)
  }

  @Test("damage of the first and of the second meta page is found")
  func damagedMeta() throws {
    _ = try SampleStore(in: directory.path, seed: 1)
    let bytes = readFile(file)
    // Offsets within the meta page: number, flags, page size, last page, transaction id.
    for (offset, patch) in [(0, [5]), (10, [0]), (40, [1]), (142, [0xFF]), (146, [9])] as [(Int, Bytes)] {
      for page in 0...1 {
        writeFile(file, bytes)
        patchFile(file, at: page * 4096 + offset, patch)
        let code = openingCode()
        // The last page of the older meta page is not used.
        #expect([.damagedPage, .truncatedFile].contains(code) || offset == 142, "\(offset) of page \(page)")
      }
    }
    writeFile(file, bytes)
    patchFile(file, at: 16, [0])
    #expect(openingCode() == .damagedPage)
    writeFile(file, bytes)
    patchFile(file, at: 4096 + 16, [0])
    #expect(openingCode() == .damagedPage)
  }

  @Test("a missing path or a wrong kind of file gives the operating system's error")
  func missing() throws {
    var options = Environment.Options.test()
    options.createsFile = false
    #expect(openingCode(options) == .noSuchFile)
    #expect(access(file, F_OK) != 0)
    options = .test()
    options.readOnly = true
    #expect(openingCode(options) == .noSuchFile)
    let missing = directory("missing")
    #expect(thrownCode { _ = try Environment(directory: missing, options: .test()) } == .noSuchFile)
    writeFile(missing, [1])
    #expect(thrownCode { _ = try Environment(directory: missing, options: .test()) } == .notADirectory)
    mkdir(file, 0o700)
    #expect(thrownCode { _ = try Environment(directory: directory.path, options: .test()) } != nil)
  }

  @Test("a pipe is not a store, and does not block")
  func pipe() {
    mkfifo(file, 0o600)
    #expect(openingCode() == .notAStore)
  }

  @Test("denied access is an error")
  func accessDenied() async throws {
    _ = try SampleStore(in: directory.path, seed: 1)
    chmod(file, 0)
    chmod(directory.path, 0o755)
    await #expect(processExitsWith: .success) { [path = directory.path as String] in
      if getuid() == 0 { demand(setuid(65534) == 0) }
      demand(thrownCode { _ = try Environment(directory: path, options: .test()) } == .accessDenied)
    }
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      chmod(directory.path, 0o500)
      if getuid() == 0 {
        chmod(directory.path, 0o755)
        demand(setuid(65534) == 0)
      }
      demand(thrownCode { _ = try Environment(directory: directory.path, options: .test()) } == .accessDenied)
    }
  }

  @Test("too many open files are an error, for each of the files that are opened")
  func tooManyFiles() async {
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      var codes: [LMDBError.Code?] = []
      // Each round allows one more file, until all can be opened.
      var allowed = 3
      while codes.last != .some(nil) && allowed < 100 {
        Limit.openFiles.set(allowed)
        codes.append(thrownCode { _ = try Environment(directory: directory.path, options: .test()) })
        allowed += 1
      }
      demand(codes.count > 4 && codes.last == .some(nil), "\(codes)")
      demand(codes.dropLast().allSatisfy { $0 == .tooManyOpenFiles }, "\(codes)")
    }
  }

  @Test("a read-only environment reads everything, writes nothing, and does not change the file")
  func readOnly() throws {
    let sample = try SampleStore(in: directory.path, seed: 1)
    let bytes = readFile(file)
    var options = Environment.Options.test()
    options.readOnly = true
    let environment = try Environment(directory: directory.path, options: options)
    #expect(try sample.isIn(environment))
    #expect(thrownCode { _ = try environment.beginWrite() } == .accessDenied)
    environment.close()
    #expect(readFile(file) == bytes)
  }
}
