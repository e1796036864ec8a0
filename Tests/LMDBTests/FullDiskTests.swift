import LMDB
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("A full disk, or a limit for the file's size")
struct FullDiskTests {
  @Test("is an error; readers continue, and writers too when space is free again")
  func fullDisk() throws {
    let directory = TemporaryDirectory()
    let disk = directory.directory("disk")
    guard run("mount -t tmpfs -o size=1m tmpfs \(disk)") else {
      print("skipped: a small file system cannot be mounted here")
      return
    }
    defer { _ = run("umount -l \(disk)") }
    writeFile(disk + "/ballast", Bytes(repeating: 1, count: 300_000))
    let environment = try Environment(directory: disk, options: .test(sync: .full))
    let table = try environment.table("t")
    let written = try fill(environment, table, until: .noSpace)
    #expect(written > 10)
    let reader = try environment.beginRead()
    for _ in 0..<5 {
      #expect(try fill(environment, table, until: .noSpace, from: written) == written)
      #expect(try reader.entries(table).count == Int(written))
    }
    reader.abort()
    unlink(disk + "/ballast")
    try environment.write { try $0.put([1], [255], table) }
    environment.close()
    #expect(try PageCheck.check(directory: disk) == [])
    let again = try Environment(directory: disk, options: .test(sync: .full))
    let count = try again.read { try $0.entries($0.openTable("t", create: false)).count }
    #expect(count == Int(written) + 1)
  }

  @Test("a limit for the size of files is an error, and leaves no partial transaction")
  func fileLimit() async {
    await #expect(processExitsWith: .success) {
      signal(SIGXFSZ, SIG_IGN)
      let directory = TemporaryDirectory()
      let environment = try Environment(directory: directory.path, options: .test(sync: .full))
      let table = try environment.table("t")
      Limit.fileBytes.set(400_000)
      let written = try fill(environment, table, until: .fileTooLarge, or: .inputOutput)
      demand(written > 10)
      try demand(environment.read { try $0.entries(table).count } == Int(written))
      Limit.fileBytes.set(10_000_000)
      try environment.write { try $0.put([1], [255], table) }
      environment.close()
      try demand(PageCheck.check(directory: directory.path).isEmpty)
    }
  }

  @Test("a read-only file system refuses writers, not readers")
  func readOnlyFileSystem() throws {
    let directory = TemporaryDirectory()
    let disk = directory.directory("disk")
    guard run("mount -t tmpfs -o size=4m tmpfs \(disk)") else {
      print("skipped: a small file system cannot be mounted here")
      return
    }
    defer { _ = run("umount -l \(disk)") }
    let sample = try SampleStore(in: disk, seed: 1)
    unlink(disk + "/lock.mdb")
    // Helper processes of other tests may hold copies of the files for a moment.
    var isRemounted = false
    for _ in 0..<100 where !isRemounted {
      isRemounted = run("mount -o remount,ro \(disk)")
      if !isRemounted { usleep(50_000) }
    }
    #expect(isRemounted)
    #expect(thrownCode { _ = try Environment(directory: disk, options: .test()) } == .readOnlyFileSystem)
    var options = Environment.Options.test()
    options.readOnly = true
    let environment = try Environment(directory: disk, options: options)
    #expect(try sample.isIn(environment))
  }
}

/// Puts one row in each transaction until one is refused with a code; returns the number of the refused row.
private func fill(
  _ environment: Environment, _ table: Table, until code: LMDBError.Code, or other: LMDBError.Code? = nil,
  from start: UInt8 = 0
) throws -> UInt8 {
  for row in start..<250 {
    let refusal = thrownCode {
      try environment.write { try $0.put(Bytes(repeating: row, count: 20_000), [row], table) }
    }
    guard let refusal else { continue }
    demand(refusal == code || refusal == other, "the error was \(refusal)")
    return row
  }
  demand(false, "nothing was refused")
  return 0
}

/// Runs a command, and returns whether it succeeded.
private func run(_ command: String) -> Bool {
  var process = pid_t()
  var arguments: [UnsafeMutablePointer<CChar>?] = []
  for argument in ["/bin/sh", "-c", command + " 2>/dev/null"] { arguments.append(strdup(argument)) }
  arguments.append(nil)
  defer { for argument in arguments { free(argument) } }
  guard posix_spawn(&process, "/bin/sh", nil, nil, &arguments, nil) == 0 else { return false }
  var status: Int32 = 0
  waitpid(process, &status, 0)
  return status == 0
}
