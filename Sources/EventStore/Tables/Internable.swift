package import OperationFormat

/// An identity that the store keeps once, and names by a number.
protocol Internable: Hashable, Sendable {
  /// The identity as the key of its number. At most 258 bytes.
  func appendInterned(to key: inout TableKey)
  /// Whether it is short enough to be stored.
  var canBeInterned: Bool { get }
  init(interned bytes: RawSpan) throws(FormatError)
}

extension Internable {
  var canBeInterned: Bool { true }
}

extension ZoneID: Internable {
  var canBeInterned: Bool {
    owner.rawValue.utf8.count <= Limits.nameBytesMax && name.rawValue.utf8.count <= Limits.nameBytesMax
  }

  func appendInterned(to key: inout TableKey) {
    key.append(UInt8(owner.rawValue.utf8.count))
    for byte in owner.rawValue.utf8 { key.append(byte) }
    for byte in name.rawValue.utf8 { key.append(byte) }
  }

  init(interned bytes: RawSpan) throws(FormatError) {
    var reader = ByteReader(bytes)
    let ownerBytes = Int(try reader.readUInt8("zone.owner"))
    let owner = reader.string(in: try reader.readBytes(ownerBytes, "zone.owner"))
    let name = reader.string(in: try reader.readBytes(reader.remaining, "zone.name"))
    self.init(owner: Name(owner), name: Name(name))
  }
}

extension Name: Internable {
  var canBeInterned: Bool { rawValue.utf8.count <= Limits.nameBytesMax }

  func appendInterned(to key: inout TableKey) {
    for byte in rawValue.utf8 { key.append(byte) }
  }

  init(interned bytes: RawSpan) throws(FormatError) {
    try self.init(utf8: bytes)
  }
}

extension ReplicaID: Internable {
  func appendInterned(to key: inout TableKey) { key.append(rawValue) }

  init(interned bytes: RawSpan) throws(FormatError) {
    var reader = ByteReader(bytes)
    self.init(rawValue: try reader.readBigEndian("identity", as: UInt128.self))
  }
}

extension IncarnationID: Internable {
  func appendInterned(to key: inout TableKey) { key.append(rawValue) }

  init(interned bytes: RawSpan) throws(FormatError) {
    var reader = ByteReader(bytes)
    self.init(rawValue: try reader.readBigEndian("identity", as: UInt128.self))
  }
}
