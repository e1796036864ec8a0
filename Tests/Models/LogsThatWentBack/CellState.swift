/// The heads of the two cells: the transactions that made them, ascending.
struct CellState: Hashable {
  var register: [Int] = []
  var element: [Int] = []

  /// The register's value, by the clocks that are worst for the rules: each write's is behind the one before.
  var value: Int? { register.first }
}
