import LMDB
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("A child made by fork")
struct ForkTests {
  @Test("is refused, may release everything it inherited, and does not harm its parent")
  func child() async {
    // In a separate process, since forking one with many threads is a risk.
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      let environment = try Environment(directory: directory.path, options: .test())
      let table = try environment.table("t")
      try environment.write { try $0.put([1], [1], table) }
      let reader = try environment.beginRead()
      let writer = try environment.beginWrite()
      try writer.put([2], [2], table)
      let child = forkProcess()
      if child == 0 {
        reader.abort()
        writer.abort()
        let code = thrownCode { _ = try environment.beginRead() }
        let other = thrownCode { _ = try environment.beginWrite() }
        environment.close()
        _exit(code == .forked && other == .forked ? 0 : 1)
      }
      var status: Int32 = 0
      waitpid(child, &status, 0)
      precondition(status == 0, "the child was not refused, or crashed: status \(status)")
      // If the child had really aborted the reader, its slot would be free and its pages overwritten.
      try demand(environment.information.readersUsed == 1)
      try writer.commit()
      for round in UInt8(0)..<20 {
        try environment.write { try $0.put(Bytes(repeating: round, count: 3000), [3], table) }
      }
      try demand(reader.get([1], table) == [1])
      try demand(reader.get([2], table) == nil)
      reader.abort()
      try demand(environment.read { try $0.entries(table).count } == 3)
    }
  }

  @Test("can open the store itself")
  func childOpens() async {
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      let environment = try Environment(directory: directory.path, options: .test())
      let table = try environment.table("t")
      let child = forkProcess()
      if child == 0 {
        guard let own = try? Environment(directory: directory.path, options: .test()) else { _exit(1) }
        let isWritten = (try? own.write { try $0.put([7], [7], $0.openTable("t", create: false)) }) != nil
        own.close()
        _exit(isWritten ? 0 : 2)
      }
      var status: Int32 = 0
      waitpid(child, &status, 0)
      precondition(status == 0, "the child could not write: status \(status)")
      try demand(environment.read { try $0.get([7], table) } == [7])
      try environment.write { try $0.put([8], [8], table) }
    }
  }
}

/// Calls `fork`, which Swift hides.
private func forkProcess() -> pid_t {
  typealias Fork = @convention(c) () -> pid_t
  let symbol = dlsym(nil, "fork")
  precondition(symbol != nil, "fork was not found")
  return unsafeBitCast(symbol, to: Fork.self)()
}
