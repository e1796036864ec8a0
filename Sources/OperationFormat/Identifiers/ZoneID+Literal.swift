extension ZoneID: ExpressibleByStringLiteral {
  /// The zone that a literal names in its text form, as `"blog"` and `"ann/blog"`. One that has no text form is the
  /// name of a zone of this store's user, which is checked where the zone is used.
  public init(stringLiteral text: String) { self = ZoneID(text) ?? ZoneID(name: Name(text)) }
}
