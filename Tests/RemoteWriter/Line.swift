#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Writes to standard output immediately, so that the output of a process that is then killed is read.
enum Line {
  static func print(_ text: String) {
    var text = text
    text.withUTF8 { _ = write(1, $0.baseAddress, $0.count) }
  }
}
