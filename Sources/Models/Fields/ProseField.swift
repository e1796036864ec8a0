public import OperationFormat

/// A text that several people write in at once: all insertions stay, each run together.
///
/// For a text that one person sets at a time, as a title, use a `Field<String>`.
public struct ProseField: MergingField {
  public let definition: FieldDefinition

  public init(_ name: Name) { definition = FieldDefinition(name, .text) }

  func content(
    of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable
  ) throws -> any Sendable {
    try transaction.text(of: name, in: record) ?? ""
  }

  func value(of content: any Sendable, in zone: ZoneID) throws -> Value { .string(content as? String ?? "") }
}
