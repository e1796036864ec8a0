import EventStore

/// The members of a list's elements that were changed since the elements were inserted, if they merge one by one.
struct ChangedMembers {
  /// Nil if nothing of it was asked for, or no member was changed.
  private(set) var explanation: Explanation?
  /// The heads of all keys, those of one together, greatest first.
  private let heads: [CellHead]
  /// The greatest of each key.
  private let entries: [Name: Value]

  init(_ heads: [CellHead]) {
    self.heads = heads
    var entries: [Name: Value] = [:]
    for case .entry(let key, let value) in heads.map(\.content) where entries[key] == nil {
      entries[key] = value
    }
    self.entries = entries
  }

  /// Those of an explained field; nil if it is no list whose members merge.
  init?(
    of list: Explanation, _ declared: QueryField?, _ transaction: borrowing ReadTransaction
  ) throws {
    guard let declared, declared.mergesMembers, list.kind == .list else { return nil }
    let explanation = try transaction.explain(list.record, field: list.field, as: .map)
    self.init(explanation?.heads.map(\.head) ?? [])
    self.explanation = explanation
  }

  /// What an element shows.
  func merged(_ element: Value) -> Value { MergedMembers.merge([element], entries)[0] }

  /// What the element shows that a member belongs to; nil if the list does not have it any more.
  func element(of member: CellHead.Content, in list: Explanation) -> Value? {
    guard case .entry(let key, _) = member else { return nil }
    for case .item(_, let value) in list.heads.map(\.head.content) {
      if let prefix = MergedMembers.prefix(of: value), key.rawValue.hasPrefix(prefix) { return merged(value) }
    }
    return nil
  }

  /// The heads of an element's members.
  func heads(of element: Value) -> [CellHead] {
    guard let prefix = MergedMembers.prefix(of: element) else { return [] }
    return heads.filter {
      if case .entry(let key, _) = $0.content { key.rawValue.hasPrefix(prefix) } else { false }
    }
  }

  /// `done = true`.
  static func text(_ content: CellHead.Content) -> String {
    guard case .entry(let key, let value) = content, let dot = key.rawValue.firstIndex(of: ".") else {
      return HeadText.content(content)
    }
    let member = Display.plain(String(key.rawValue[dot...].dropFirst()))
    guard case .array(let values) = value, let value = values.first else { return "\(member) removed" }
    return "\(member) = \(Display.value(value))"
  }
}
