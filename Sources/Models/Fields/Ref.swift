public import OperationFormat

/// Refers to a record of a model, and is its identity. The record need not exist. If it is moved to another zone, its
/// identity there is another; `fetch` finds it by this one too.
public struct Ref<M: Model>: Hashable, Sendable {
  /// The record's zone and name.
  public let record: RecordID

  public init(_ record: RecordID) { self.record = record }

  public init(in zone: ZoneID, _ name: Name) { record = RecordID(zone: zone, name: name) }

  public var zone: ZoneID { record.zone }
  public var name: Name { record.name }
}

extension Ref: CustomStringConvertible {
  public var description: String { "\(M.type) \(record)" }
}

/// Without a rule: while the record it refers to is deleted, it stays what it is.
extension Ref: FieldValue {
  public init?(_ value: Value, in zone: ZoneID) {
    guard case .reference(let reference) = value else { return nil }
    record = reference.target(from: zone)
  }

  public func value(in zone: ZoneID) -> Value { value(in: zone, .none) }

  func value(in zone: ZoneID, _ rule: ReferenceRule) -> Value {
    .reference(Reference(zone: record.zone == zone ? nil : record.zone, record: record.name, rule: rule))
  }
}

extension ValueCodec {
  /// References with a rule.
  static func reference<M: Model>(_ rule: ReferenceRule) -> Self where T == Ref<M> {
    Self(encode: { $0.value(in: $1, rule) }, decode: { T($0, in: $1) })
  }
}

/// As text, for what is not a store: the record's identity in its text form.
extension Ref: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let record = RecordID(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "it is no record's identity")
    }
    self.record = record
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode("\(record)")
  }
}
