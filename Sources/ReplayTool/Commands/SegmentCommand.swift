import ArgumentParser
import EventStore

/// `replay segment`: shows a file of a remote log.
struct SegmentCommand: ReplayCommand {
  static let configuration = CommandConfiguration(
    commandName: "segment", abstract: "Shows a segment's file: its header, its chain and its transactions.",
    discussion: """
      It reads a segment as it is sent, a segment as a remote folder stores it, and the seal that ends a zone's log. It needs \
      no store. A line of a transaction has: sequence, time, author, label, count of operations.

      It ends with 1 if the file is damaged or newer than this program. It ends with 2 if the file is none of these, or if its \
      first bytes are damaged.

      Example: replay segment 0000000000000012 --operations
      """)

  @Argument(help: ArgumentHelp("The file, or - for standard input.", valueName: "file"))
  var file: String

  @Flag(name: .long, help: "Print JSON: one object.")
  var json = false

  @Flag(help: "Print the operations below each transaction.")
  var operations = false

  var printsJSON: Bool { json }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let source = file == "-" ? try console.input() : try DescriptorSource(path: file)
    let found = try SegmentFile(bytes: Self.read(source), name: source.name)
    if json {
      try console.output.line(found.json(withOperations: operations))
    } else {
      try SegmentPage(file: found, showsOperations: operations).print(console.output)
    }
    return found.problem == nil ? nil : .problem
  }

  /// Reads a file, but at most one byte more than such a file may have.
  private static func read(_ source: any ByteSource) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count <= SegmentFile.bytesMax {
      let part = try source.read(upTo: 1 << 16)
      if part.isEmpty { break }
      bytes += part
    }
    return bytes
  }
}
