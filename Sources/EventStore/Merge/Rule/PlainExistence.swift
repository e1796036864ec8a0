/// What is known of the existence of a record.
enum PlainExistence {
  case unknown
  case plain(PlainRow.Existence)
  /// Not one living head at the row's beginning.
  case other
}
