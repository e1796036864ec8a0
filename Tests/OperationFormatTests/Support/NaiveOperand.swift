import OperationFormat

/// The bytes of an operand, from the tables of `TransactionFormat`, computed in a slow and obvious way.
enum NaiveOperand {
  static func bytes(_ change: FieldChange) -> (kind: UInt64, operand: [UInt8]) {
    var makers: [UnitMaker] = []
    func unit(_ unit: UnitReference?) -> [UInt8] {
      guard let unit else { return [0] }
      let number = NaiveTransaction.varint(unit.number)
      guard let maker = unit.maker else { return [1] + number }
      if let known = makers.firstIndex(of: maker) {
        return NaiveTransaction.varint(UInt64(known) + 3) + number
      }
      makers.append(maker)
      return [2] + NaiveTransaction.bigEndian(maker.replica.rawValue)
        + NaiveTransaction.varint(UInt64(maker.epoch)) + number
    }
    func runs(_ runs: [UnitSpan]) -> [UInt8] {
      runs.reduce(NaiveTransaction.varint(UInt64(runs.count))) {
        $0 + unit($1.first) + NaiveTransaction.varint($1.count)
      }
    }
    func value(_ value: Value) -> [UInt8] { try! value.encoded() }
    switch change {
    case .set(let new): return (3, value(new))
    case .add(let amount): return (4, value(amount))
    case .insert(let element): return (5, value(element))
    case .remove(let element): return (6, value(element))
    case .put(let key, let new): return (7, NaiveTransaction.text(key.rawValue) + value(new))
    case .removeKey(let key): return (8, NaiveTransaction.text(key.rawValue))
    case .insertElements(let values, let origin):
      let count = NaiveTransaction.varint(UInt64(values.count))
      return (9, unit(origin) + count + values.flatMap { value($0) })
    case .moveElement(let element, let origin):
      let element = unit(element)
      return (10, element + unit(origin))
    case .replaceElement(let element, let new): return (11, unit(element) + value(new))
    case .removeElements(let removed): return (12, runs(removed))
    case .insertText(let text, let origin): return (13, unit(origin) + NaiveTransaction.text(text))
    case .removeText(let removed): return (14, runs(removed))
    case .contribute(let payload): return (15, value(payload))
    }
  }
}
