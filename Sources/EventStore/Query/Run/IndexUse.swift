import OperationFormat

/// How an index serves a query.
struct IndexUse: Sendable {
  let index: StoredIndex
  /// The values that the first parts must have, of each at least one.
  let equal: [[Value]]
  /// What the part behind them must be in.
  let range: IndexRange?
  /// Whether another condition could be decided in place of one that it decides.
  let hasChoice: Bool
  /// Whether one record may have several entries in the range.
  let mayRepeat: Bool
  /// Whether the fields that records come for may read as nothing although the index has them: references whose
  /// records are not there.
  let mayHaveNothing: Bool
  /// The conditions that the index decides.
  let used: [QueryCondition]
  /// What is left to filter.
  let rest: QueryCondition
  /// Whether it has the records in the query's order: forwards, or backwards; nil if not.
  let isReverse: Bool?
  /// How many parts decide the order. Where there are more, records of the same order come in another one.
  let orderedParts: Int
  /// The parts that the fields of the order are; nil if one of them is in none.
  let orderFields: [Int]?

  /// How many ranges the values of the first parts may make.
  static let rangesMax = 1024

  var parts: [IndexPart] { index.definition.parts }
}

/// A range of values of one kind.
struct IndexRange: Hashable, Sendable {
  struct Bound: Hashable, Sendable {
    /// A value, or a text that others begin with.
    let value: Value
    /// Whether all texts count that begin with it.
    var isPrefix = false
    /// Whether it is behind them, not before.
    let isBehind: Bool
  }

  /// A value of the kind.
  let kind: Value
  var lower: Bound?
  var upper: Bound?
}

// MARK: Choosing

extension IndexUse {
  /// The best use that any index has for a query; nil if none helps.
  ///
  /// - Parameters:
  ///   - isOrdered: whether the records must come in the query's order.
  ///   - count: asked where several may be the best: how many entries a use reads, up to a number.
  static func best(
    of indexes: [StoredIndex], for query: RecordQuery, isOrdered: Bool, count: (IndexUse, Int) throws -> Int
  ) rethrows -> IndexUse? {
    guard let types = query.types, !types.isEmpty else { return nil }
    var found: [IndexUse] = []
    for index in indexes {
      guard index.status == .built, Set(types).isSubset(of: index.definition.types),
        index.definition.parts.lazy.map(\.each).first(where: { !$0.isEmpty }) ?? [] == query.each
      else { continue }
      // Of several words or elements that a condition wants, each may be the one that the fewest records have.
      for preferred in 0..<preferredMax {
        guard let use = IndexUse(index, query, isOrdered: isOrdered, preferring: preferred) else { break }
        found.append(use)
        if !use.hasChoice { break }
      }
    }
    if found.count < 2 { return found.first }
    let uses = found.sorted { $0.rank > $1.rank }
    let ordered = uses.first { $0.isReverse != nil }
    guard let best = try fewest(of: uses, count) else { return ordered }
    // An index that has the order and nothing else reads all records in the worst case, and few in the best.
    guard best.isReverse == nil, isOrdered, let limit = query.limit, !query.order.isEmpty, let ordered else {
      return best
    }
    let few = max(countedMin, min(limit, 4 * countedMin))
    return try count(best, few) < few ? best : ordered
  }

  /// How many words or elements of a condition are compared to choose one.
  private static let preferredMax = 16

  /// How many entries are counted at first, and at last, to choose between indexes.
  private static let (countedMin, countedMax) = (256, 4096)

  /// The one that finds the fewest records; nil if none finds some.
  ///
  /// - Parameter uses: the best first, where they find as many.
  private static func fewest(of uses: [IndexUse], _ count: (IndexUse, Int) throws -> Int) rethrows
    -> IndexUse?
  {
    var left: [IndexUse] = []
    // One that decides less than another finds no fewer.
    for use in uses where !use.used.isEmpty && !left.contains(where: { $0.decides(use.used) }) {
      left.append(use)
    }
    guard left.count > 1 else { return left.first }
    var max = countedMin
    while max <= countedMax {
      let counts = try left.map { try count($0, max) }
      if let least = counts.min(), least < max { return left[counts.firstIndex(of: least)!] }
      max *= 4
    }
    return left[0]
  }

  private func decides(_ conditions: [QueryCondition]) -> Bool { conditions.allSatisfy(used.contains) }

  /// What has more values that are known is better; then what has the records in order.
  private var rank: Int {
    equal.count * 8 + (range == nil ? 0 : 4) + (isReverse == nil ? 0 : 2) + (parts.count > 7 ? 0 : 1)
  }

  /// Nil if the index does not help, or there are fewer conditions to choose from.
  ///
  /// - Parameter preferred: which of the conditions that a part with several values may decide it decides.
  private init?(_ index: StoredIndex, _ query: RecordQuery, isOrdered: Bool, preferring preferred: Int) {
    var left = query.condition.parts
    var used: [QueryCondition] = []
    var equal: [[Value]] = []
    var ranges = 1
    let parts = index.definition.parts
    var hasChoice = false
    for (place, part) in parts.enumerated() {
      var skipped = part.makesSeveral ? preferred : 0
      func fits(_ condition: QueryCondition) -> Bool {
        guard let values = condition.values(equalIn: part), values.count * ranges <= Self.rangesMax else {
          return false
        }
        return index.isExact(place) || part.hasReferencesAlone && values.allSatisfy(\.isReference)
      }
      let found = left.firstIndex { condition in
        guard fits(condition) else { return false }
        skipped -= 1
        return skipped < 0
      }
      if part.makesSeveral {
        if found == nil, preferred > 0 { return nil }
        hasChoice = left.count { fits($0) } > 1
      }
      guard let found, let values = left[found].values(equalIn: part) else { break }
      ranges *= max(1, values.count)
      used.append(left.remove(at: found))
      equal.append(values)
    }
    var range: IndexRange?
    var mayRepeat = false
    if equal.count < parts.count, case .words(let field) = parts[equal.count].content {
      let found = left.firstIndex { if case .word(field, _, true) = $0 { true } else { false } }
      if let found, case .word(_, let word, _) = left[found] {
        range = IndexRange(prefix: word)
        used.append(left.remove(at: found))
        mayRepeat = true
      }
    }
    // A record without elements is not in the index.
    guard !parts.dropFirst(equal.count + (mayRepeat ? 1 : 0)).contains(where: \.hasSeveral) else {
      return nil
    }
    if equal.count < parts.count, !mayRepeat, index.isExact(equal.count) {
      let field = parts[equal.count].queryField
      for condition in left {
        guard let other = condition.range(of: field) else { continue }
        guard let known = range else {
          range = other
          used.append(condition)
          continue
        }
        guard let both = known.narrowed(by: other) else { continue }
        range = both
        used.append(condition)
      }
      left.removeAll(where: used.contains)
    }
    if preferred > 0, !hasChoice { return nil }
    let order = mayRepeat ? nil : Self.order(query, index, equal)
    let isNeeded = isOrdered && !query.order.isEmpty
    if equal.isEmpty && range == nil && !(isNeeded && order != nil && query.limit != nil) { return nil }
    self.index = index
    self.hasChoice = hasChoice
    mayHaveNothing = parts.indices.contains { place in
      if case .eachOf = parts[place].content { !index.isExact(place) } else { false }
    }
    (self.equal, self.range, self.used, self.mayRepeat) = (equal, range, used, mayRepeat)
    rest = left.count == 1 ? left[0] : left.isEmpty ? .always(true) : .all(left)
    isReverse = isOrdered ? order?.isReverse : nil
    orderedParts = order?.parts ?? equal.count
    orderFields = Self.fields(of: query.order, in: index)
  }

  /// Whether an index has the records in a query's order behind the parts that are equal.
  private static func order(
    _ query: RecordQuery, _ index: StoredIndex, _ equal: [[Value]]
  ) -> (isReverse: Bool, parts: Int)? {
    let parts = index.definition.parts
    // A field that has one value orders nothing.
    let pinned = zip(parts, equal).filter { $1.count == 1 && !$0.hasSeveral }.map(\.0.queryField)
    let order = query.order.filter { !pinned.contains($0.field) }
    guard order.count <= parts.count - equal.count else { return nil }
    var isReverse: Bool?
    for (offset, wanted) in order.enumerated() {
      let place = equal.count + offset
      guard !parts[place].hasSeveral, parts[place].queryField == wanted.field, index.isExact(place) else {
        return nil
      }
      let isTurned = parts[place].isDescending != wanted.isDescending
      guard isReverse == nil || isReverse == isTurned else { return nil }
      isReverse = isTurned
    }
    return (isReverse ?? false, equal.count + order.count)
  }

  private static func fields(of order: [QueryOrder], in index: StoredIndex) -> [Int]? {
    let places = order.map { index.part(with: $0.field) }
    return places.contains(nil) ? nil : places.compactMap(\.self)
  }

  /// Whether the index's entries tell of all fields that are left to filter, so that no record is read for it.
  func coversRest(of query: RecordQuery) -> Bool {
    guard rest != .always(true), query.each.isEmpty,
      Set(query.types ?? []).isSuperset(of: index.definition.types)
    else { return false }
    return rest.valueFields?.allSatisfy { index.part(with: $0) != nil } ?? false
  }
}

extension StoredIndex {
  /// Whether a part has what its field reads as: no references.
  func isExact(_ part: Int) -> Bool { referenceParts & 1 << UInt8(part) == 0 }

  /// The part that has what a field reads as; nil if none has.
  func part(with field: QueryField) -> Int? {
    let parts = definition.parts
    return parts.indices.first { !parts[$0].hasSeveral && parts[$0].queryField == field && isExact($0) }
  }
}

extension IndexPart {
  /// Whether a nullified reference of a field leaves nothing: no former name, fallback or upcast puts another
  /// thing in its place.
  fileprivate var hasReferencesAlone: Bool {
    queryFields.allSatisfy { $0.formerNames.isEmpty && $0.fallback == .null && $0.upcast == nil }
  }
}

extension Value {
  fileprivate var isReference: Bool { if case .reference = self { true } else { false } }
}

extension QueryCondition {
  /// The conditions that must all be fulfilled.
  var parts: [QueryCondition] {
    if case .all(let conditions) = self { conditions.flatMap(\.parts) } else { [self] }
  }

  /// The fields whose values it looks at; nil if it looks into lists, sets or maps.
  fileprivate var valueFields: [QueryField]? {
    switch self {
    case .always: return []
    case .not(let condition): return condition.valueFields
    case .all(let conditions), .any(let conditions):
      var fields: [QueryField] = []
      for condition in conditions {
        guard let found = condition.valueFields else { return nil }
        fields += found
      }
      return fields
    case .compare(let field, _, _), .oneOf(let field, _), .text(let field, _, _), .word(let field, _, _):
      return [field]
    case .contains, .hasElement, .invalid: return nil
    }
  }

  /// The values of which a part of an index must have one, if the condition says that and nothing else.
  fileprivate func values(equalIn part: IndexPart) -> [Value]? {
    let found = rawValues(equalIn: part)
    // A reference is compared with its zone and without a rule: another one equals none.
    let isComparable = found?.allSatisfy { value in
      guard case .reference(let reference) = value else { return true }
      return reference.zone != nil && reference.rule == .none
    }
    return isComparable == true ? found : nil
  }

  private func rawValues(equalIn part: IndexPart) -> [Value]? {
    switch (self, part.content) {
    case (.compare(let field, .equal, let value), .value(let other)) where field.has([value], as: other):
      [value]
    case (.oneOf(let field, let values), .value(let other)) where field.has(values, as: other):
      Array(Set(values))
    case (.contains(let field, let value), .elements(let other)) where field == other: [value]
    case (.word(let field, let word, false), .words(let other)) where field == other: [.string(word)]
    case (.compare(.each, .equal, let value), .eachOf): [value]
    default: nil
    }
  }

  /// The range in which a field must be, if the condition says that and nothing else.
  fileprivate func range(of field: QueryField) -> IndexRange? {
    switch self {
    case .compare(field, let comparison, let value) where value != .null:
      switch comparison {
      case .less: IndexRange(kind: value, upper: .init(value: value, isBehind: false))
      case .lessOrEqual: IndexRange(kind: value, upper: .init(value: value, isBehind: true))
      case .greater: IndexRange(kind: value, lower: .init(value: value, isBehind: true))
      case .greaterOrEqual: IndexRange(kind: value, lower: .init(value: value, isBehind: false))
      case .equal, .notEqual: nil
      }
    case .text(field, .prefix, let text):
      IndexRange(prefix: text)
    default: nil
    }
  }
}

extension QueryField {
  /// Whether the same records have one of some values in this field and in another: it is the same, or has
  /// but another fallback, which is none of the values.
  fileprivate func has(_ values: [Value], as other: QueryField) -> Bool {
    if self == other { return true }
    var same = self
    same.fallback = other.fallback
    guard same == other else { return false }
    let fallbacks = [fallback, other.fallback].map { isFolded ? $0.folded : $0 }
    return !fallbacks.contains(where: values.contains)
  }
}

extension IndexRange {
  /// The texts that begin with one.
  fileprivate init(prefix text: String) {
    self.init(
      kind: "", lower: Bound(value: .string(text), isPrefix: true, isBehind: false),
      upper: Bound(value: .string(text), isPrefix: true, isBehind: true))
  }

  /// The range with a bound of another, if it has none there; nil if both have one, or they are of different
  /// kinds.
  fileprivate func narrowed(by other: IndexRange) -> IndexRange? {
    guard kind.rank == other.kind.rank, lower == nil || other.lower == nil, upper == nil || other.upper == nil
    else { return nil }
    return IndexRange(kind: kind, lower: lower ?? other.lower, upper: upper ?? other.upper)
  }
}
