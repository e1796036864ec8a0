import EventStore
import OperationFormat

/// The existence of a record: a head says the record's type, that the record is dead, or the place it moved
/// to.
enum FoldExistence: FoldCellKind {
  /// The content of a head that a deletion makes. A content from 0 on is a type.
  static let dead = -1

  /// The content of a head that a move to a place makes.
  static func moved(to place: Int) -> Int { dead - 1 - place }

  /// The place that a head of a move names; nil for other heads.
  static func place(_ content: Int) -> Int? { content < dead ? dead - 1 - content : nil }

  /// Whether a head says that the record no longer exists.
  static func isDead(_ content: Int) -> Bool { content <= dead }

  /// The places that records move to, both in other zones than the records.
  static let places = [
    RecordID(zone: ZoneID(name: "x"), name: "p0"), RecordID(zone: ZoneID(owner: "o", name: "y"), name: "p1"),
  ]

  static let count = 1
  static let traits: FoldCellTraits = .hasWinner

  static func identity(_ element: Int) -> [UInt8]? { nil }

  /// 0 if it is dead; 1 and the type's number, which is below 128; or 2 and the place.
  static func payload(_ content: Int, _ numbers: FoldPayloadNumbers) -> [UInt8] {
    if content == dead { return deadBytes }
    if let place = place(content) { return movedBytes[place] }
    return aliveBytes[Int(numbers.numbering.number(ofType: content).rawValue)]
  }

  private static let deadBytes: [UInt8] = [0]
  private static let movedBytes: [[UInt8]] = [
    [2, 0, 1] + Array("x".utf8) + [2] + Array("p0".utf8),
    [2, 1] + Array("o".utf8) + [1] + Array("y".utf8) + [2] + Array("p1".utf8),
  ]
  private static let aliveBytes: [[UInt8]] = (0..<8).map { [1, $0] }

  static func referringValue(_ content: Int, element: Int) -> Value? { nil }

  static func words(_ content: Int) -> String {
    if content == dead { return "dead" }
    return place(content).map { "moved to p\($0)" } ?? "alive as t\(content)"
  }

  static func words(_ payload: [UInt8], _ numbering: FoldNumbering) -> String {
    switch try? Existence(payload: payload.span.bytes) {
    case .dead: "dead"
    case .alive(let type): "alive as t\(numbering.type(of: type))"
    case .moved(let place): "moved to \(place.name)"
    case nil: "\(payload)"
    }
  }
}
