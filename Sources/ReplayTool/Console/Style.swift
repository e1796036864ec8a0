/// The style of a text for a user who sees colours.
enum Style {
  case plain, heading, quiet, winner, loser, warning

  /// The code of the terminal.
  var code: String {
    switch self {
    case .plain: "0"
    case .heading: "1"
    case .quiet: "2"
    case .winner: "32"
    case .loser: "31"
    case .warning: "33"
    }
  }
}
