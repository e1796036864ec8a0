import ChildProcesses
import StoreTesting
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("A process that a test starts")
struct ChildrenOfATest {
  @Test("inherits no descriptor, whatever its number: a reader of a pipe does not wait for it")
  func inheritsNothing() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    // Hundreds of open stores use the low numbers.
    let high = fcntl(ends[1], F_DUPFD, 1500)
    try #require(high >= 1500)
    let child = try ChildProcess(path: "/bin/cat", [], environment: [], takesInput: true)
    child.send("is there")
    #expect(child.line() == "is there")
    close(ends[1])
    close(high)
    var end = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
    #expect(poll(&end, 1, 10_000) == 1, "somebody still holds the other end")
    #expect(end.revents & Int16(POLLHUP) != 0)
    close(ends[0])
    child.endInput()
    #expect(child.wait() == .exit(0))
  }

  @Test("its errors are kept, and more errors than fit into a pipe do not stop it")
  func keepsErrors() throws {
    let script = "for i in {1..20000}; do echo \"line $i\" >&2; done; echo done; echo last >&2; exit 3"
    let child = try ChildProcess(path: "/bin/bash", ["-c", script], environment: [], errors: .kept)
    #expect(child.receiveAll() == Array("done\n".utf8))
    #expect(child.wait() == .exit(3))
    #expect(child.errorText.utf8.count == 65536)
    #expect(child.errorText.hasPrefix("line 1\nline 2\n"))
    #expect(child.receiveAll() == [])
    #expect(child.wait() == .exit(3), "its end is known")
  }

  @Test("ignores and blocks no signal, whatever its parent does")
  func signals() throws {
    signal(SIGPIPE, SIG_IGN)
    signal(SIGQUIT, SIG_IGN)
    defer { signal(SIGQUIT, SIG_DFL) }
    var all = sigset_t()
    var before = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    for number in [SIGPIPE, SIGINT, SIGQUIT] {
      let child = try ChildProcess(
        path: "/bin/sh", ["-c", "kill -\(number) $$; echo lives"], environment: [])
      #expect(child.receiveAll() == [])
      #expect(child.wait() == .signal(number))
    }
  }

  @Test("a missing program is refused, and leaves no descriptor open")
  func refusesPrograms() throws {
    let start = try #require(lowestFree())
    for _ in 0..<100 {
      #expect(throws: ChildProcess.Refusal.self) {
        try ChildProcess(path: "/nonexistent", [], environment: [], errors: .kept, takesInput: true)
      }
    }
    let end = try #require(lowestFree())
    // Other tests open files meanwhile, but not hundreds.
    #expect(end < start + 200)
  }

  private func lowestFree() -> Int32? {
    let descriptor = open("/dev/null", O_RDONLY)
    close(descriptor)
    return descriptor >= 0 ? descriptor : nil
  }
}
