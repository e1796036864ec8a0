import EventStore

/// How pages show fields of each kind.
extension FieldKind {
  struct Words {
    /// Whether all heads of a cell are shown; otherwise one head wins each cell, and the others lose to it.
    var showsAllHeads: Bool
    /// Whether an explanation lists the heads even if there is only one.
    var listsSingleHead: Bool
    /// Whether its heads are contributions, which are listed in their order.
    var areListedInOrder = false
    /// The word for a unit that was removed.
    var unit = "element"
  }

  var words: Words {
    switch self {
    case .register: Words(showsAllHeads: false, listsSingleHead: false)
    case .counter: Words(showsAllHeads: true, listsSingleHead: false)
    case .set: Words(showsAllHeads: true, listsSingleHead: false)
    case .map: Words(showsAllHeads: false, listsSingleHead: false)
    case .list: Words(showsAllHeads: false, listsSingleHead: false)
    case .text: Words(showsAllHeads: true, listsSingleHead: true, unit: "character")
    case .contributions:
      Words(showsAllHeads: true, listsSingleHead: true, areListedInOrder: true)
    }
  }
}
