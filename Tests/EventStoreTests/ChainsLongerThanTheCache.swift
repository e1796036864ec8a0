import OperationFormat
import Testing

@testable import EventStore

@Suite("Chains of cascades longer than the cache")
struct ChainsLongerThanTheCache {
  /// How many records are followed if each record of a chain is read in turn.
  private func steps(_ count: Int, countMax: Int, backward: Bool, _ fate: RecordFates.Fate) -> Int {
    var fates = RecordFates(countMax: countMax)
    let state = StateNumber(rawValue: 1)
    func key(_ number: Int) -> RecordFates.RecordKey { .init(state: state, name: Array("\(number)".utf8)) }
    var steps = 0
    for number in 0..<count {
      var met: [RecordFates.RecordKey] = []
      var next = backward ? count - 1 - number : number
      while next < count, fates[key(next)] == nil {
        met.append(key(next))
        next += 1
      }
      steps += met.count + 1
      fates.remember(fate, of: met)
      #expect(fates.count <= countMax)
    }
    return steps
  }

  @Test("a scan follows few records for each record", arguments: [false, true])
  func scanned(backward: Bool) {
    let missing = RecordFates.RecordKey(state: StateNumber(rawValue: 1), name: [])
    for fate in [RecordFates.Fate.there, .gone(missing: missing)] {
      for count in [100, 1000, 10_000] {
        #expect(
          steps(count, countMax: 256, backward: backward, fate) <= 4 * count + count * count / (2 * 256))
      }
    }
  }
}
