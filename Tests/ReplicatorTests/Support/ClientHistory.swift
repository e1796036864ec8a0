/// What one client of a folder has printed, over all of its processes, and what is wrong with it. See `FolderClient` of
/// RemoteWriter for what a transaction changes.
struct ClientHistory {
  /// What a read of a zone showed.
  struct Picture: Equatable {
    /// Both numbers of a writer, and the numbers of all that its last transaction had seen.
    struct Writer: Equatable {
      var first = 0
      var second = 0
      var seen: [Int] = []
    }

    var total = 0
    /// The writer and its number that each of two records says, which all transactions set together.
    var last = ["-", "-"]
    var writers: [Writer]
  }

  let number: Int
  /// The last picture of each zone.
  private(set) var pictures: [Int: Picture] = [:]
  /// The number of its last acknowledged transaction in each zone.
  private(set) var acknowledged: [Int: Int] = [:]
  private(set) var acknowledgedCount = 0
  private(set) var readCount = 0
  /// How many of its reads showed something of others that the read before had not.
  private(set) var newsCount = 0
  private(set) var anomalies: [String] = []

  init(number: Int) { self.number = number }

  // MARK: Lines

  /// Takes a line of output.
  mutating func take(_ line: String) {
    let words = line.split(separator: " ").map(String.init)
    switch words.first {
    case "wrote":
      (acknowledged[Int(words[1])!], acknowledgedCount) = (Int(words[2])!, acknowledgedCount + 1)
    case "saw": take(Self.picture(words), of: Int(words[1])!)
    case "over": break
    default: anomalies.append("client \(number) printed: \(line)")
    }
  }

  private static func picture(_ words: [String]) -> Picture {
    let writers = stride(from: 5, to: words.count, by: 3).map { index in
      Picture.Writer(
        first: Int(words[index]) ?? 0, second: Int(words[index + 1]) ?? 0,
        seen: words[index + 2].split(separator: ".").compactMap { Int($0) })
    }
    return Picture(total: Int(words[2])!, last: [words[3], words[4]], writers: writers)
  }

  // MARK: What must hold

  /// Takes a picture, and checks it: alone, and with what this client read and wrote before.
  mutating func take(_ picture: Picture, of zone: Int) {
    readCount += 1
    func found(_ what: String) {
      anomalies.append("client \(number), read \(readCount), zone \(zone): \(what)")
    }
    let counts = picture.writers.map(\.first)
    for (writer, numbers) in picture.writers.enumerated() {
      if numbers.first != numbers.second {
        found("half a transaction of \(writer): \(numbers.first) and \(numbers.second)")
      }
      // What is read of a writer comes with all that the writer had read.
      if !zip(numbers.seen, counts).allSatisfy({ $0 <= $1 }) {
        found("writer \(writer) had seen \(numbers.seen), and this shows \(counts)")
      }
    }
    if counts.reduce(0, +) != picture.total { found("the total is \(picture.total) of \(counts)") }
    if picture.last[0] != picture.last[1] { found("records that change together differ: \(picture.last)") }
    let last = picture.last[0].split(separator: ".").compactMap { Int($0) }
    if last.count == 2, last[1] > counts[last[0]] { found("\(last) without its transaction in \(counts)") }
    if counts[number] < acknowledged[zone] ?? 0 {
      found("its own write \(acknowledged[zone]!) is missing: \(counts[number])")
    }
    if let before = pictures[zone]?.writers.map(\.first) {
      if !zip(before, counts).allSatisfy({ $0 <= $1 }) { found("went back from \(before) to \(counts)") }
      if zip(before, counts).enumerated().contains(where: {
        $0.offset != number && $0.element.0 < $0.element.1
      }) {
        newsCount += 1
      }
    }
    pictures[zone] = picture
  }
}
