import OperationFormat

/// What makes a list or a text what it would be, as far as a transaction matters: units that go, and copies of such that
/// are gone.
struct UndoneSequence {
  private let now: UndoneUnits
  private let aim: UndoneUnits
  private let transactions: UndoneTransactions
  private let copies: UnitCopies
  /// What there would not be, although it is there to be named.
  private let never: UnitSet
  /// The elements that moves have put at places.
  private let moved: [UnitReference: UnitReference]
  /// Elements that an undo has inserted in the place of others, by these, in the order in which it did.
  private var elementCopies: [UnitReference: [UnitReference]] = [:]

  init(_ now: UndoneUnits, _ aim: UndoneUnits, _ transactions: UndoneTransactions) {
    (self.now, self.aim, self.transactions) = (now, aim, transactions)
    copies = UnitCopies(now.parts, transactions)
    never = aim.units { !transactions.isEffective($0) }
    moved = now.movedElements
    for copy in copies.inOrder where moved[copy] == nil {
      elementCopies[element(copy), default: []].append(copy)
    }
  }

  // MARK: Texts

  /// - Parameter changes: those of the transaction; nil if all units matter.
  func texts(_ changes: [FieldChange]?) -> (
    removed: [UnitSpan], inserted: [(text: String, last: UnitReference)]
  ) {
    var spans = changes == nil ? now.all : now.spans(madeBy: transactions.root)
    for case .removeText(let some) in changes ?? [] { spans += some.map(transactions.named) }
    let mattering = copies.origins(of: spans)
    func wouldShow(_ unit: UnitReference) -> Bool {
      aim.shows(unit) && !never.contains(unit) && copies.copies(of: unit).allSatisfy(aim.shows)
    }
    let removed = now.shownSpans { unit in
      let origin = copies.origin(of: unit)
      return mattering.contains(origin) && !wouldShow(origin)
    }
    let inserted = aim.texts { unit in
      mattering.contains(unit) && !copies.isCopy(unit) && wouldShow(unit) && !now.shows(unit)
        && !copies.copies(of: unit).contains(where: now.shows)
    }
    return (removed, inserted)
  }

  // MARK: Lists

  struct Elements {
    struct Change {
      /// What it is now known as.
      let element: UnitReference
      let change: FieldChange
      /// When it would have got its value.
      var valued: Timestamp?
    }

    var removed: [UnitSpan] = []
    var changed: [Change] = []
    var inserted: [(values: [Value], last: UnitReference)] = []
    /// What others have done to elements, which stay.
    var changedByOthers: [OperationID] = []
    /// Whether an element that was changed is gone.
    var isOneGone = false
  }

  /// - Parameter changes: those of the transaction; nil if all elements matter.
  func elements(_ changes: [FieldChange]?) -> Elements {
    var spans = changes == nil ? now.all : now.spans(madeBy: transactions.root)
    for case .removeElements(let some) in changes ?? [] { spans += some.map(transactions.named) }
    let units = UnitSet(spans)
    let known = Set(now.items.keys).union(aim.items.keys).union(copies.inOrder).union(elementCopies.keys)
    let mattering = Set(known.filter(units.contains).map(element))
    var (valued, placed): (Set<UnitReference>, Set<UnitReference>) = ([], [])
    for change in changes ?? [] {
      switch change {
      case .replaceElement(let unit, _): valued.insert(element(transactions.named(unit)))
      case .moveElement(let unit, _): placed.insert(element(transactions.named(unit)))
      default: break
      }
    }
    if changes == nil { (valued, placed) = (mattering, mattering) }
    var found = Elements()
    var inserted: [UnitReference: Value] = [:]
    for origin in mattering.union(valued).union(placed).sorted() {
      let there = ([origin] + (elementCopies[origin] ?? [])).filter { now.items[$0] != nil }
      guard let goal = goal(of: origin) else {
        if mattering.contains(origin) { remove(there, &found) } else { found.isOneGone = true }
        continue
      }
      guard let item = there.last else {
        if mattering.contains(origin), let place = goal.place { inserted[place] = goal.value }
        continue
      }
      if valued.contains(origin) { compareValue(of: item, goal, &found) }
      if placed.contains(origin) { comparePlace(of: item, goal, &found) }
    }
    found.inserted = aim.elements(inserted)
    return found
  }

  private func remove(_ items: [UnitReference], _ found: inout Elements) {
    for item in items {
      // One that was moved or got another value since stays.
      if let other = now.items[item]!.heads.first(where: { isLater($0) }) {
        found.changedByOthers.append(other)
      } else {
        found.removed.append(joining: item)
      }
    }
  }

  private func compareValue(of item: UnitReference, _ goal: UndoneUnits.Item, _ found: inout Elements) {
    guard let value = goal.value else { return }
    if now.items[item]!.value != value {
      found.changed.append(
        Elements.Change(element: item, change: .replaceElement(item, value), valued: goal.valued))
    } else if let last = goal.values.first, transactions.undoes, isLater(last) {
      found.changedByOthers.append(last)
    }
  }

  private func comparePlace(of item: UnitReference, _ goal: UndoneUnits.Item, _ found: inout Elements) {
    guard let place = goal.place, let current = now.items[item]!.place else { return }
    if copies.origin(of: current) != copies.origin(of: place) {
      found.changed.append(Elements.Change(element: item, change: .moveElement(item, after: place)))
    } else if let last = goal.places.first, transactions.undoes, isLater(last) {
      found.changedByOthers.append(last)
    }
  }

  /// Whether an operation that counts came after the transaction, or beside it.
  private func isLater(_ operation: OperationID) -> Bool {
    transactions.isEffective(operation.transaction) && operation.transaction != transactions.root.id
      && (try? transactions.isLater(operation)) ?? false
  }

  /// The element that stands for no other, of one that an undo has inserted in its place.
  private func element(_ unit: UnitReference) -> UnitReference {
    var (unit, steps) = (unit, 0)
    // Each step goes to an older one, unless rows are damaged.
    while copies.isCopy(unit), steps <= copies.inOrder.count {
      let place = copies.origin(of: unit)
      unit = moved[place] ?? place
      steps += 1
    }
    return unit
  }

  /// What an element would be; nil if it would not be there. What was done to a copy counts for it.
  private func goal(of origin: UnitReference) -> UndoneUnits.Item? {
    guard var goal = aim.items[origin], !never.contains(origin) else { return nil }
    for copy in elementCopies[origin] ?? [] {
      guard let item = aim.items[copy] else { return nil }
      if let last = item.values.first, transactions.isEffective(last.transaction) {
        (goal.value, goal.values, goal.valued) = (item.value, item.values, item.valued)
      }
      if let last = item.places.first, transactions.isEffective(last.transaction) {
        (goal.place, goal.places) = (item.place, item.places)
      }
    }
    return goal
  }
}

extension Set<UnitReference> {
  /// Those of a maker in the order in which it made them.
  fileprivate func sorted() -> [UnitReference] {
    func order(_ unit: UnitReference) -> (UInt128, UInt32, UInt64) {
      (unit.maker?.replica.rawValue ?? 0, unit.maker?.epoch ?? 0, unit.number)
    }
    return sorted { order($0) < order($1) }
  }
}
