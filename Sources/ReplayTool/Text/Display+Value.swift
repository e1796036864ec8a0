import EventStore

extension Display {
  private static let shownDepthMax = 3
  private static let shownElementsMax = 8

  /// A value on one line.
  ///
  /// - Parameter limit: how many characters of a text, or elements of a list, to show; nil for all.
  static func value(_ value: Value, limit: Int? = 40) -> String { text(value, limit, depth: 1) }

  private static func text(_ value: Value, _ limit: Int?, depth: Int) -> String {
    switch value {
    case .null: "null"
    case .bool(let isTrue): "\(isTrue)"
    case .int(let number): "\(number)"
    case .double(let number): "\(number)"
    case .decimal(let number): "\(number)"
    case .string(let text): quoted(text, limit: limit ?? .max)
    case .bytes(let bytes): Self.bytes(bytes, limit)
    case .date(let microseconds): CalendarTime.text(microseconds: microseconds)
    case .uuid(let id): "\(id)"
    case .reference(let reference): Self.reference(reference)
    case .asset(let asset): "asset \("\(asset.hash)".prefix(12))… of \(count(asset.byteCount, "byte"))"
    case .array(let elements): list(elements.map { (nil, $0) }, limit, depth)
    case .map(let entries):
      entries.isEmpty
        ? "[:]" : list(entries.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, limit, depth)
    }
  }

  private static func bytes(_ bytes: [UInt8], _ limit: Int?) -> String {
    let shown = limit.map { min($0 / 4, bytes.count) } ?? bytes.count
    guard !bytes.isEmpty else { return "0 bytes" }
    return
      "\(count(bytes.count, "byte")) \(Hexadecimal.text(bytes.prefix(shown)))\(shown < bytes.count ? "…" : "")"
  }

  private static func reference(_ reference: Reference) -> String {
    let target = reference.zone.map { "\(zone($0)):\(name(reference.record))" } ?? name(reference.record)
    return switch reference.rule {
    case .none: "→ \(target)"
    case .cascade: "→ \(target) (cascade)"
    case .nullify: "→ \(target) (nullify)"
    }
  }

  private static func list(_ elements: [(key: Name?, value: Value)], _ limit: Int?, _ depth: Int) -> String {
    if limit != nil, depth > shownDepthMax { return "[\(count(elements.count, "element"))]" }
    let shown = elements.prefix(limit == nil ? .max : shownElementsMax).map { key, value in
      (key.map { quoted($0.rawValue, limit: limit ?? .max) + ": " } ?? "")
        + text(value, limit, depth: depth + 1)
    }
    return "[" + (shown + (elements.count > shown.count ? ["…"] : [])).joined(separator: ", ") + "]"
  }
}
