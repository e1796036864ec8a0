/// A key on the stack.
package struct TableKey {
  /// State number and the longest name of a record come to 259, a zone's two names to 258; LMDB takes 511.
  static let bytesMax = 264

  private var storage = InlineArray<264, UInt8>(repeating: 0)
  private(set) var byteCount = 0

  init() {}

  mutating func append<T: FixedWidthInteger>(_ value: T) {
    withUnsafeBytes(of: value.bigEndian) { append($0) }
  }

  mutating func append<Identity>(_ number: Number<Identity>) { append(number.rawValue) }

  mutating func append(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { append($0) }
  }

  private mutating func append(_ bytes: UnsafeRawBufferPointer) {
    precondition(byteCount + bytes.count <= Self.bytesMax, "a key of over \(Self.bytesMax) bytes")
    var span = storage.mutableSpan
    span.withUnsafeMutableBytes { storage in
      UnsafeMutableRawBufferPointer(rebasing: storage[byteCount...]).copyMemory(from: bytes)
    }
    byteCount += bytes.count
  }

  package var span: RawSpan {
    @_lifetime(borrow self)
    get { storage.span.bytes.extracting(..<byteCount) }
  }

  /// The row of a state; a prefix of the rows of its records.
  static func state(_ state: StateNumber) -> TableKey {
    var key = TableKey()
    key.append(state)
    return key
  }

  /// The row of a record, by the UTF-8 of its name.
  package static func record(_ state: StateNumber, _ name: RawSpan) -> TableKey {
    var key = TableKey()
    key.append(state)
    key.append(name)
    return key
  }
}

extension StateNumber {
  /// The state that a key of ``TableKey`` begins with.
  init(ofKey bytes: [UInt8]) { self.init(rawValue: bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }) }
}
