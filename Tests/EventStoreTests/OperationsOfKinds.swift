import Testing

@testable import EventStore
@testable import OperationFormat

@Suite("Operations and their kinds of fields")
struct OperationsOfKinds {
  @Test("each known operation on a field belongs to one kind, and every other to none")
  func oneKindEach() {
    for number in 1...OperationKind.lastKnown.rawValue {
      let operation = OperationKind(rawValue: number)
      let owners = FieldKind.allCases.filter { kind in kind.with { $0.operations.contains(operation) } }
      #expect(owners.count == (operation.payload == .change ? 1 : 0), "operation \(number)")
      #expect(FieldKind(of: operation) == owners.first, "operation \(number)")
    }
    #expect(FieldKind(of: OperationKind(rawValue: OperationKind.lastKnown.rawValue + 1)) == nil)
    #expect(FieldKind(of: OperationKind(rawValue: .max)) == nil)
  }
}
