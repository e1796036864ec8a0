import Testing

@testable import OperationFormat

@Suite("Types that may be passed to asynchronous functions")
struct AlignmentTests {
  @Test("None needs more than a word's alignment: the compiler would misplace it, see Bits128")
  func alignment() {
    #expect(MemoryLayout<Value>.alignment <= 8)
    #expect(MemoryLayout<LogOperation>.alignment <= 8)
    #expect(MemoryLayout<LogTransaction>.alignment <= 8)
    #expect(MemoryLayout<TransactionHeader>.alignment <= 8)
    #expect(MemoryLayout<SegmentHeader>.alignment <= 8)
    #expect(MemoryLayout<ChangeToken>.alignment <= 8)
    #expect(MemoryLayout<DatabaseToken>.alignment <= 8)
    #expect(MemoryLayout<ZoneEvent>.alignment <= 8)
    #expect(MemoryLayout<UniqueID>.alignment <= 8)
  }
}
