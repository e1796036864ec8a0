/// A file of lines, plain or compressed with gzip.
enum TextFile {
  /// Opens a file to read it line by line.
  static func open(_ path: String) throws -> any ByteSource {
    let start = try DescriptorSource(path: path).read(upTo: 2)
    guard start == [0x1f, 0x8b] else { return try DescriptorSource(path: path) }
    return try GzipSource(path)
  }
}
