extension Value: CustomStringConvertible {
  /// A short text for people: long texts, bytes, arrays and maps are cut. It cannot be parsed.
  public var description: String { text(depth: 1) }

  private func text(depth: Int) -> String {
    switch self {
    case .null: "null"
    case .bool(let isTrue): "\(isTrue)"
    case .int(let number): "\(number)"
    case .double(let number): "\(number)"
    case .decimal(let number): "\(number)"
    case .string(let text): Self.cut(text).debugDescription
    case .bytes(let bytes): "\(bytes.count) bytes"
    case .date(let microseconds): CalendarTime.text(microseconds: microseconds)
    case .uuid(let id): "\(id)"
    case .reference(let reference):
      reference.zone.map { "→ \($0):\(reference.record)" } ?? "→ \(reference.record)"
    case .asset(let asset): "asset \("\(asset.hash)".prefix(8)) of \(asset.byteCount) bytes"
    case .array(let elements) where depth > Self.shownDepthMax: "[\(elements.count) elements]"
    case .array(let elements):
      Self.list(elements.prefix(Self.shownElementsMax).map { $0.text(depth: depth + 1) }, of: elements.count)
    case .map(let entries) where depth > Self.shownDepthMax: "[\(entries.count) entries]"
    case .map(let entries) where entries.isEmpty: "[:]"
    case .map(let entries):
      Self.list(
        entries.sorted { $0.key < $1.key }.prefix(Self.shownElementsMax)
          .map { "\(Self.cut("\($0.key)").debugDescription): \($0.value.text(depth: depth + 1))" },
        of: entries.count)
    }
  }

  private static var shownDepthMax: Int { 3 }
  private static var shownElementsMax: Int { 8 }
  private static var shownCharactersMax: Int { 40 }

  private static func cut(_ text: String) -> String {
    let shown = text.prefix(shownCharactersMax)
    return shown.endIndex == text.endIndex ? text : shown + "…"
  }

  private static func list(_ shown: [String], of count: Int) -> String {
    "[" + (shown + (count > shown.count ? ["…"] : [])).joined(separator: ", ") + "]"
  }
}
