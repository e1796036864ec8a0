import LMDB
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("A program that is started while a store is open")
struct DescriptorTests {
  let directory = TemporaryDirectory()

  @Test("inherits none of its files", arguments: [false, true])
  func closeOnExec(_ isReadOnly: Bool) throws {
    if isReadOnly { try Environment(directory: directory.path, options: .test()).close() }
    var options = Environment.Options.test()
    options.readOnly = isReadOnly
    let environment = try Environment(directory: directory.path, options: options)
    defer { environment.close() }
    for name in ["data.mdb", "lock.mdb"] {
      var file = stat()
      try #require(stat(directory(name), &file) == 0)
      var found = 0
      for descriptor in 0..<getdtablesize() {
        var other = stat()
        guard fstat(descriptor, &other) == 0, other.st_dev == file.st_dev, other.st_ino == file.st_ino
        else { continue }
        found += 1
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0, "\(name) is open as \(descriptor)")
      }
      #expect(found > 0)
    }
  }
}
