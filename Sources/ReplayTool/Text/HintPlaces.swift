import EventStore

/// The store and the remote of a command, and the zone that a hint is about. Hints contain commands with the
/// placeholders STORE, REMOTE, ZONE and ZONE@OFFSET.
struct HintPlaces: Sendable {
  var store: String?
  var remote: String?
  /// In the form of an option, or the incarnation of the zone's log.
  var zone: String?

  /// A hint with the placeholders replaced, so that its commands can be run.
  func fill(_ hint: String) -> String {
    hint.replacing(#/\b(STORE|REMOTE)\b/#) { match in
      (match.output.1 == "STORE" ? store : remote)?.argument ?? String(match.output.0)
    }
    .replacing(#/(--[a-z-]+) ZONE(@[0-9]+)?/#) { match in
      guard let zone else { return String(match.output.0) }
      return Display.option(String(match.output.1), "\(zone)\(match.output.2 ?? "")")
    }
    .replacing(#/(replay zone [a-z]+ .+?) ZONE\b/#) { match in
      guard let zone else { return String(match.output.0) }
      // A name must not look like an option.
      return "\(match.output.1) \(zone.hasPrefix("-") ? "-- " : "")\(zone.argument)"
    }
  }

  /// A command of `replay zone` for the zone, in backticks.
  func zoneCommand(_ verb: String) -> String { "`\(fill("replay zone \(verb) STORE ZONE"))`" }

  /// The same, for hints about a zone.
  func of(_ zone: ZoneID) -> HintPlaces { of(Display.zone(zone)) }

  /// The same, for hints about a zone or one of its logs, in the form of an option.
  func of(_ zone: String) -> HintPlaces {
    var places = self
    places.zone = zone
    return places
  }
}
