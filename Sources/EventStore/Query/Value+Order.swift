import OperationFormat

extension Value {
  /// The order of values in queries: by their kinds, in the order of the cases of `Value`, then within a kind.
  ///
  /// Two values are in no order only if they are equal. Strings and bytes are ordered by their bytes (which for
  /// strings is the order of Unicode scalars), numbers by size; −0 comes before 0, and NaN last; arrays by their
  /// first elements that differ, and maps by their first entries that do. References are ordered by zone and name.
  public func precedes(_ other: Value) -> Bool {
    switch (self, other) {
    case (.bool(let a), .bool(let b)): !a && b
    case (.int(let a), .int(let b)): a < b
    case (.double(let a), .double(let b)): !b.orderable.isTotallyOrdered(belowOrEqualTo: a.orderable)
    case (.decimal(let a), .decimal(let b)): a < b
    case (.string(let a), .string(let b)): Name(a) < Name(b)
    case (.bytes(let a), .bytes(let b)): a.lexicographicallyPrecedes(b)
    case (.date(let a), .date(let b)): a < b
    case (.uuid(let a), .uuid(let b)): a < b
    case (.reference(let a), .reference(let b)): a.precedes(b)
    case (.asset(let a), .asset(let b)): a.precedes(b)
    case (.array(let a), .array(let b)): a.lexicographicallyPrecedes(b) { $0.precedes($1) }
    case (.map(let a), .map(let b)):
      Self.sorted(a).lexicographicallyPrecedes(Self.sorted(b)) { Self.precedes($0, $1) }
    default: rank < other.rank
    }
  }

  private static func sorted(_ entries: [Name: Value]) -> [(key: Name, value: Value)] {
    entries.sorted { $0.key < $1.key }
  }

  private static func precedes(_ a: (key: Name, value: Value), _ b: (key: Name, value: Value)) -> Bool {
    a.key == b.key ? a.value.precedes(b.value) : a.key < b.key
  }

  /// The place of its kind.
  var rank: Int {
    switch self {
    case .null: 0
    case .bool: 1
    case .int: 2
    case .double: 3
    case .decimal: 4
    case .string: 5
    case .bytes: 6
    case .date: 7
    case .uuid: 8
    case .reference: 9
    case .asset: 10
    case .array: 11
    case .map: 12
    }
  }

  /// The value as queries compare it, in a record of a zone: a reference names its zone, and has no rule.
  package func compared(in zone: ZoneID) -> Value {
    guard mayNameRecords else { return self }
    return mapReferences { (reference) throws(Never) in
      Reference(zone: reference.zone ?? zone, record: reference.record)
    }
  }
}

extension Reference {
  fileprivate func precedes(_ other: Reference) -> Bool {
    (zone?.owner ?? "", zone?.name ?? "", record, rule.rawValue)
      < (other.zone?.owner ?? "", other.zone?.name ?? "", other.record, other.rule.rawValue)
  }
}

extension AssetReference {
  fileprivate func precedes(_ other: AssetReference) -> Bool {
    hash == other.hash
      ? byteCount < other.byteCount : hash.bytes.lexicographicallyPrecedes(other.hash.bytes)
  }
}

extension Double {
  /// Values have one NaN, but what a query compares with may be any.
  fileprivate var orderable: Double { isNaN ? .nan : self }
}
