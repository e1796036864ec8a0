import EventStore
import LMDB
import OperationFormat
import StoreTesting

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Stores and a folder that a former version wrote, kept as text in `Golden`, and what that version showed of
/// them. `Tests/README.md` says how they were made.
enum FormerFiles {
  struct Unreadable: Error { let line: String }

  /// Makes the directory of a store from the rows of its tables, as `mdb_dump -a` writes them.
  static func makeStore(_ name: String, in directory: String) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    var options = Environment.Options(sync: .none)
    options.mapBytes = 64 << 20
    let environment = try Environment(directory: directory, options: options)
    defer { environment.close() }
    let transaction = try environment.beginWrite()
    var table: Table?
    var key: [UInt8]?
    for line in try lines("\(name).dump") {
      if line.hasPrefix("database=") {
        table = try transaction.openTable(String(line.dropFirst("database=".count)), create: true)
      } else if line.hasPrefix(" ") {
        let bytes = try bytes(line.dropFirst())
        guard let table else { throw Unreadable(line: line) }
        if let known = key {
          try transaction.put(bytes.span.bytes, for: known.span.bytes, in: table)
          key = nil
        } else {
          key = bytes
        }
      }
    }
    try transaction.commit()
  }

  /// Makes a folder from the paths and bytes of its files.
  static func makeFolder(_ name: String, in directory: String) throws {
    for line in try lines("\(name).folder") where !line.isEmpty {
      let parts = line.split(separator: " ", omittingEmptySubsequences: false)
      guard parts.count == 2 else { throw Unreadable(line: line) }
      let path = "\(directory)/\(parts[0])"
      if path.hasSuffix("/") {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      } else {
        let parent = path.split(separator: "/").dropLast().joined(separator: "/")
        try FileManager.default.createDirectory(atPath: "/\(parent)", withIntermediateDirectories: true)
        guard FileManager.default.createFile(atPath: path, contents: Data(try bytes(parts[1]))) else {
          throw Unreadable(line: line)
        }
      }
    }
  }

  /// The digests that the former version printed.
  static func digests(_ name: String) throws -> [String: ContentHash] {
    var digests: [String: ContentHash] = [:]
    for line in try lines("\(name).digests") where !line.isEmpty {
      let parts = line.split(separator: " ")
      guard parts.count == 2, let hash = ContentHash(String(parts[0])) else { throw Unreadable(line: line) }
      digests[String(parts[1])] = hash
    }
    return digests
  }

  private static func lines(_ name: String, besides source: String = #filePath) throws -> [String] {
    let folder = source.split(separator: "/").dropLast(2).joined(separator: "/")
    let text = try String(contentsOfFile: "/\(folder)/Golden/\(name)", encoding: .utf8)
    return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  private static func bytes(_ text: Substring) throws -> [UInt8] {
    let digits = Array(text.utf8)
    guard digits.count % 2 == 0 else { throw Unreadable(line: String(text)) }
    return try stride(from: 0, to: digits.count, by: 2).map { index in
      let pair = String(decoding: digits[index..<index + 2], as: UTF8.self)
      guard let byte = UInt8(pair, radix: 16) else { throw Unreadable(line: String(text)) }
      return byte
    }
  }
}
