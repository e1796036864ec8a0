/// Prints lines in aligned columns, as the rows arrive.
///
/// The first rows wait, to decide the widths. A later, wider row widens the columns from there on. So the
/// memory is bounded for any number of rows.
struct Columns {
  struct Cell {
    var text: String
    var style = Style.plain
    var isRightAligned = false

    init(_ text: String, _ style: Style = .plain, right: Bool = false) {
      self.text = text
      self.style = style
      isRightAligned = right
    }
  }

  /// How many rows may wait for their widths.
  private static let waitingMax = 64
  /// The greatest width of a column. A wider cell moves only the rest of its own row.
  private static let widthMax = 48

  private let output: Output
  private let indent: String
  private var widths: [Int] = []
  private var waiting: [(cells: [Cell], below: [String])] = []

  init(_ output: Output, indent: Int = 0) {
    self.output = output
    self.indent = String(repeating: " ", count: indent)
  }

  /// Adds a row, and lines below it that use no columns.
  mutating func add(_ cells: [Cell], below: [String] = []) throws {
    waiting.append((cells, below))
    if waiting.count >= Self.waitingMax { try flush() }
  }

  /// Prints the waiting rows.
  mutating func flush() throws {
    for (cells, _) in waiting {
      for (index, cell) in cells.enumerated() {
        if index == widths.count { widths.append(0) }
        widths[index] = max(widths[index], min(cell.text.count, Self.widthMax))
      }
    }
    for (cells, below) in waiting {
      try output.line(indent + line(cells))
      for text in below { try output.line(indent + text) }
    }
    waiting.removeAll(keepingCapacity: true)
  }

  private func line(_ cells: [Cell]) -> String {
    var line = ""
    // Spaces are added only when text follows, so that no line ends in spaces.
    var gap = 0
    for (index, cell) in cells.enumerated() {
      let padding = max(0, widths[index] - cell.text.count)
      if cell.isRightAligned { gap += padding }
      if !cell.text.isEmpty {
        line += String(repeating: " ", count: gap) + output.styled(cell.text, cell.style)
        gap = 0
      }
      gap += (cell.isRightAligned ? 0 : padding) + 2
    }
    return line
  }
}
