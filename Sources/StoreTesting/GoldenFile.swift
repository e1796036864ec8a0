#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A golden file of the formats' tests: hexadecimal text, with notes after `#`.
enum GoldenFile {
  struct Missing: Error { let name: String }

  /// The bytes of a file, for a test in another target's folder.
  static func read(_ name: String, besides source: String = #filePath) throws -> [UInt8] {
    let tests = source.split(separator: "/").dropLast(2).joined(separator: "/")
    guard let file = fopen("/\(tests)/OperationFormatTests/Golden/\(name).hex", "r") else {
      throw Missing(name: name)
    }
    defer { fclose(file) }
    var text = [UInt8](repeating: 0, count: 1 << 16)
    let count = fread(&text, 1, text.count, file)
    let lines = String(decoding: text[..<count], as: UTF8.self).split(separator: "\n")
    return lines.flatMap { line in
      line.prefix { $0 != "#" }.split(separator: " ").map { UInt8($0, radix: 16)! }
    }
  }
}
