#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The standard output, at once: what a process has said before it is killed is read.
enum Line {
  static func print(_ text: String) {
    var text = text
    text.withUTF8 { _ = write(1, $0.baseAddress, $0.count) }
  }
}
