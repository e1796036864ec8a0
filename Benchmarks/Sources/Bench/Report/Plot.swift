import Foundation

/// Draws the ratios of speed (SVG): a bar for each rival and comparison, on a logarithmic scale around 1.
struct Plot {
  var page: Page

  private static let rivals: [(name: Participant.Name, colour: String)] = [
    (.lmdb, "#7a7f87"), (.sqlite, "#2f7ed8"),
  ]
  /// From a twentieth to twenty times.
  private static let decades = log10(20.0)
  private static let titleWidth = 430.0
  private static let plotWidth = 430.0
  private static let barHeight = 9.0

  var svg: String {
    let outcomes = page.outcomes.filter { outcome in
      outcome.measure == .speed && Self.rivals.contains { outcome.ratio(to: $0.name) != nil }
    }
    var body: [String] = []
    var y = 40.0
    for outcome in outcomes {
      let top = y
      for (name, colour) in Self.rivals {
        guard let ratio = outcome.ratio(to: name) else { continue }
        let (from, to) = (Self.x(1), Self.x(ratio.median))
        body.append(
          "<rect x='\(Self.text(min(from, to)))' y='\(Self.text(y))' width='\(Self.text(abs(to - from)))' "
            + "height='\(Self.text(Self.barHeight))' fill='\(colour)'/>")
        body.append(
          Self.label(String(format: "%.2f", ratio.median), x: max(from, to) + 4, y: y + 8, size: 10))
        if let aim = outcome.aim(to: name) {
          let x = Self.text(Self.x(aim))
          body.append(
            "<line x1='\(x)' x2='\(x)' y1='\(Self.text(y - 1))' y2='\(Self.text(y + Self.barHeight + 1))' "
              + "stroke='#d0393e' stroke-width='2'/>")
        }
        y += Self.barHeight + 2
      }
      body.append(Self.label(outcome.title, x: Self.titleWidth - 8, y: (top + y) / 2 + 3, anchor: "end"))
      y += 8
    }
    for tick in [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20] {
      let x = Self.text(Self.x(tick))
      body.insert(
        "<line x1='\(x)' x2='\(x)' y1='34' y2='\(Self.text(y))' stroke='#c8ccd2' stroke-width='1'/>", at: 0)
      body.append(Self.label(tick.formatted(), x: Self.x(tick), y: y + 14, anchor: "middle"))
    }
    let legend =
      "Tributary's speed as a multiple of raw LMDB's (grey) and of GRDB's (blue); red: the aim"
    body.insert(Self.label(legend, x: 12, y: 18, size: 13), at: 0)
    let size = "width='\(Self.text(Self.titleWidth + Self.plotWidth + 60))' height='\(Self.text(y + 24))'"
    return """
      <svg xmlns='http://www.w3.org/2000/svg' \(size) font-family='sans-serif'>
      <rect width='100%' height='100%' fill='white'/>
      \(body.joined(separator: "\n"))
      </svg>

      """
  }

  private static func x(_ ratio: Double) -> Double {
    let place = min(max(log10(ratio) / decades, -1), 1)
    return titleWidth + (place + 1) / 2 * plotWidth
  }

  private static func text(_ number: Double) -> String { String(format: "%.1f", number) }

  private static func label(
    _ text: String, x: Double, y: Double, size: Int = 11, anchor: String = "start"
  ) -> String {
    let escaped = text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(
      of: "<", with: "&lt;")
    return
      "<text x='\(Self.text(x))' y='\(Self.text(y))' font-size='\(size)' text-anchor='\(anchor)' fill='#20242a'>"
      + "\(escaped)</text>"
  }
}
