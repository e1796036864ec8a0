import EventStore
import Testing

@testable import OperationFormat
@testable import StoreTesting

/// The compiler names the switches that a new kind of operation needs. It cannot name the lists from which
/// random tests draw, and a kind that is missing there is never tested.
@Suite("Every kind of operation is tested")
struct KindsThatAreTested {
  /// The known operations that change a field.
  private let changes = Set(OperationKind.known.filter { $0.payload == .change })

  /// The operation in a log that one of FoldCheck becomes.
  private func kind(of kind: FoldOperation.Kind) throws -> OperationKind {
    let operation = FoldOperation(kind, record: 0)
    guard case .edit(let edit) = operation.action else { return Self.kind(of: operation.logOperation) }
    let unit = UnitReference(maker: UnitMaker(replica: ReplicaID(rawValue: 1), epoch: 0), number: 0)
    let change = try operation.change(
      edit, count: 3, number: 1, origin: { _ in nil }, units: { _ in [UnitSpan(first: unit, count: 1)] })
    return change.kind
  }

  private static func kind(of operation: LogOperation) -> OperationKind {
    switch operation {
    case .create: .create
    case .delete: .delete
    case .update(_, _, _, let change): change.kind
    case .moveAway: .moveAway
    case .moveHere: .moveHere
    case .compact: .compact
    case .unknown(let kind, _): OperationKind(rawValue: kind)
    }
  }

  @Test("FoldCheck has an operation of each kind, and its schedules draw all of them")
  func inFoldCheck() throws {
    let kinds = Set(try FoldOperation.Kind.allCases.map(kind))
    // The copy of a record that moves is folded as a record that is created.
    #expect(kinds == changes.union([.create, .delete, .moveAway]))
    var drawn: Set<FoldOperation.Kind> = []
    for number in 0..<300 {
      let schedule = FoldScheduleGenerator.schedule(seed: 1, number: number, sizes: FoldCheckSizes())
      for case .write(_, _, let operations) in schedule.steps { drawn.formUnion(operations.map(\.kind)) }
    }
    #expect(drawn == Set(FoldOperation.Kind.allCases))
  }

  @Test("simulated worlds write each kind that merges")
  func inWorlds() throws {
    #expect(Set(try CellWorkload.merges.map(kind)) == changes.subtracting([.set]))
  }

  @Test("generated segments have each kind that changes a field")
  func inSegments() throws {
    var generator = SegmentGenerator(
      ZoneID(name: "z"), IncarnationID(rawValue: 1), seed: 1, operationsMax: 30, writerCount: 2)
    var found: Set<OperationKind> = []
    for _ in 0..<300 {
      for transaction in try generator.next().remote.transactions {
        found.formUnion(try LogTransaction(decoding: transaction.span.bytes).operations.map(Self.kind))
      }
    }
    #expect(found.isSuperset(of: changes), "missing: \(changes.subtracting(found))")
  }
}
