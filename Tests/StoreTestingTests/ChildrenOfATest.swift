import StoreTesting
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("A process that a test starts")
struct ChildrenOfATest {
  @Test("inherits no descriptor, whatever its number: who reads a pipe to its end does not wait for it")
  func inheritsNothing() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    // Hundreds of open stores take the low numbers.
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
}
