import Foundation
import Tributary

/// Two devices of a family, which write offline and sync through a folder.
@main
struct Family {
  static func main() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "family-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let remote = try await FolderRemote.create(directory: "\(directory)/shared")
    let laptop = try Device("laptop", in: directory, remote: remote)
    let phone = try Device("phone", in: directory, remote: remote)

    let (picnic, ann) = try await begin(on: laptop, in: directory)
    try await laptop.sync()
    try await phone.sync()
    try phone.show()

    print("Both go offline and write.")
    try await write(on: laptop, picnic, ann)
    try await write(on: phone, picnic)
    for device in [laptop, phone, laptop] { try await device.sync() }
    try check(laptop, phone)
    try phone.show()

    print("Both gave the post another headline:")
    for line in try ConflictScreen.lines(of: picnic, in: laptop.store) { print("  \(line)") }
    try await ConflictScreen.takeOther(of: picnic, in: laptop.store)
    for device in [laptop, phone] { try await device.sync() }
    try check(laptop, phone)
    guard try ConflictScreen.lines(of: picnic, in: phone.store).isEmpty else {
      fail("the conflict is not over")
    }
    print("Now both show “\(try phone.store.fetch(picnic)?.headline ?? "")”.")

    print("\nThe phone downloads a file when its user opens it:")
    guard let file = try phone.store.first(PostScreen.attachments(of: picnic))?.file else {
      fail("there is no file")
    }
    print("  is it here? \(try phone.store.local.hasAsset(file))")
    try await phone.replicator.downloadAsset(file, in: Device.zone)
    print("  now: \(try String(contentsOfFile: phone.store.local.assetPath(file), encoding: .utf8))")

    print("\nThe journal in pages of two, and how a page is read:")
    for page in try PostScreen.pages(of: phone.store, size: 2) { print("  \(page.joined(separator: " | "))") }
    print("  \(try phone.store.explain(PostScreen.newest.limit(2)))")

    for device in [laptop, phone] { device.store.close() }
  }

  /// What the family has at first.
  private static func begin(on device: Device, in directory: String) async throws -> (Ref<Post>, Ref<Member>)
  {
    let path = "\(directory)/map.txt"
    try "Turn left at the old oak.".write(toFile: path, atomically: true, encoding: .utf8)
    let map = try await device.store.local.importAsset(file: path)
    return try await device.store.write { tx in
      let zone = Device.zone
      for (headline, month, body) in [
        ("New year", 1, "Much snow."), ("Spring", 3, "The garden is green."), ("Holidays", 7, "At last!"),
      ] {
        try tx.create(Post.self, in: zone) {
          ($0.headline, $0.date) = (headline, day(month, 1))
          $0.body.set(body)
        }
      }
      let picnic = try tx.create(Post.self, in: zone) {
        $0.headline = "Picnic"
        $0.date = day(8, 2)
        $0.body.set("We meet at noon.")
      }
      try tx.add(tag: "outside", to: picnic)
      try tx.create(Attachment.self, in: zone) { ($0.post, $0.name, $0.file) = (picnic, "map.txt", map) }

      try tx.create(Event.self, in: zone) { ($0.title, $0.start, $0.end) = ("Camp", day(8, 1), day(8, 9)) }
      try tx.create(Event.self, in: zone) { ($0.title, $0.start) = ("Birthday", day(8, 5)) }

      let ann = try tx.create(Member.self, in: zone) { $0.name = "Ann" }
      try tx.create(Member.self, in: zone) { $0.name = "Bob" }
      try tx.wish("Metropolis", by: ann)
      return (picnic, ann)
    }
  }

  /// What is written on the laptop while it is offline.
  private static func write(on laptop: Device, _ picnic: Ref<Post>, _ ann: Ref<Member>) async throws {
    try await laptop.store.write { tx in
      tx[picnic].headline = "Picnic at the lake"
      tx[picnic].body.append(" Bring a towel.")
      tx[picnic].likes.add(1)
      try tx.add(tag: "water", to: picnic)
      try tx.wish("The Kid", by: ann)
      if let camp = try tx.first(Event.where { $0.title == "Camp" }) { tx[camp.id].end = day(8, 10) }
    }
  }

  /// What is written on the phone while it is offline.
  private static func write(on phone: Device, _ picnic: Ref<Post>) async throws {
    try await phone.store.write { tx in
      tx[picnic].headline = "Picnic in the woods"
      tx[picnic].body.set("We meet at one o’clock.")
      tx[picnic].likes.add(1)
      try tx.add(tag: "water", to: picnic)
      guard let bob = try tx.first(Member.where { $0.name == "Bob" }) else { return }
      try tx.wish("The Kid", by: bob.id)
      if let camp = try tx.first(Event.where { $0.title == "Camp" }) { tx[camp.id].title = "Summer camp" }
    }
  }

  /// A day of 2026.
  private static func day(_ month: Int, _ day: Int) -> Date {
    DateComponents(
      calendar: Calendar(identifier: .gregorian), timeZone: .gmt, year: 2026, month: month, day: day
    ).date!
  }

  /// Ends the program unless both devices show the same.
  private static func check(_ one: Device, _ other: Device) throws {
    guard try one.screen() == other.screen() else {
      fail("\(one.name) and \(other.name) do not show the same")
    }
  }

  private static func fail(_ message: String) -> Never {
    print("error: \(message)")
    exit(1)
  }
}
