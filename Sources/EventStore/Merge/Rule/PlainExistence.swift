/// Cached existence of the loaded record; `unknown` after a change.
enum PlainExistence {
  case unknown
  case plain(PlainRow.Existence)
  /// Not one living head at the row's beginning.
  case other
}
