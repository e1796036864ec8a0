/// One operation of a generated transaction, in small numbers instead of names.
public struct FoldOperation: Hashable, Sendable, CustomStringConvertible {
  /// What an operation does.
  public enum Kind: UInt8, Hashable, Sendable, CaseIterable {
    /// The record is alive, and what was seen of its fields goes.
    case create
    /// A field gets a value, and the record is alive.
    case set
    /// The record is dead.
    case delete
    /// A counter gets a contribution, and the record is alive.
    case add
  }

  /// What it does.
  public var kind: Kind
  /// The record, from 0.
  public var record: UInt8
  /// The field, from 0; of `set` and `add` alone.
  public var field: UInt8
  /// The record's type, from 0; not of `delete`.
  public var type: UInt8
  /// The field's new value, or what is added to its counter, one of the integers; of `set` and `add` alone.
  public var value: FoldValue

  /// Creates an operation; what its kind does not use is 0.
  public init(_ kind: Kind, record: UInt8, field: UInt8 = 0, type: UInt8 = 0, value: FoldValue = .null) {
    self.kind = kind
    self.record = record
    let hasField = kind == .set || kind == .add
    self.field = hasField ? field : 0
    self.type = kind == .delete ? 0 : type
    self.value = hasField ? value : .null
  }

  /// Such as “set r0.f1 = 5 as t0”.
  public var description: String {
    switch kind {
    case .create: "create r\(record) as t\(type)"
    case .set: "set r\(record).f\(field) = \(value) as t\(type)"
    case .delete: "delete r\(record)"
    case .add: "add \(value) to r\(record).f\(field) as t\(type)"
    }
  }
}
