import Foundation
import StoreTesting
import Testing
import Tributary

// The example of Queries.md is between the marks: an app author's code, which may use only public API.

// page
struct Author: Model {
  static let type: Name = "author"
  let name = Field<String>("name")
}

struct Book: Model {
  static let type: Name = "book"
  let title = Field<String>("title")
  let year = Field<Int>("year").indexed
  let pages = Field<Int?>("pages")
  let author = Field<Ref<Author>?>("author", .nullify)
  let lent = Field<Date?>("lent")
  let due = Field<Date?>("due")
  let subjects = SetField<String>("subjects").indexed
  let summary = ProseField("summary")

  static let indexes: [Index] = [
    Index { [$0.author, $0.year.descending] },
    Index { [$0.title.folded] },
    Index { [$0.summary.words] },
    Index("dates") { [Each($0.lent, $0.due)] },
  ]
}
// page end

// page
func books(_ store: Store, by author: Ref<Author>) throws -> [String] {
  let newest = Book.where { $0.author == author && $0.subjects.contains("birds") }
    .sorted(by: \.year, .reverse).limit(20)
  for row in try store.fetch(newest) { print(row.title, row.year) }
  print(try store.explain(newest))
  return try store.fetch(newest).map(\.title)
}
// page end

// page
func list(_ filter: String, byTitle: Bool, isShort: Bool) -> Query<Book> {
  var query = Book.all
  if !filter.isEmpty { query = query.where { $0.summary.hasWords(filter, lastIsPrefix: true) } }
  if isShort { query = query.where { $0.pages != nil && $0.pages < 100 } }
  return byTitle ? query.sorted(by: \.title.folded) : query.sorted(by: \.year, .reverse)
}
// page end

// page
func allTitles(_ store: Store) throws -> [String] {
  var titles: [String] = []
  var query = Book.all.sorted(by: \.title).limit(100)
  while true {
    let page = try store.page(query)
    titles += page.rows.map(\.title)
    guard let next = page.next else { return titles }
    query = query.after(next)
  }
}
// page end

// page
func agenda(_ store: Store, from day: Date) throws -> [String] {
  let dates = Book.each(Date.self) { [$0.lent, $0.due] }.where { _, date in date >= day }.sorted()
  return try store.fetch(dates).map { "\($0.row.title) \($0.place == 0 ? "was lent" : "is due")" }
}
// page end

// page
func inOrder(_ rows: [Row<Book>], of locale: Locale) -> [Row<Book>] {
  rows.sorted { $0.title.compare($1.title, locale: locale) == .orderedAscending }
}
// page end

@Suite("The example of the page of queries")
struct QueryExamples {
  @Test("finds what the page says")
  func runs() async throws {
    let directory = TemporaryDirectory()
    let store = try Store(
      directory.path + "/books", .consistent, models: [Author.self, Book.self], zones: [.local("home")])
    let day = Date(timeIntervalSince1970: 1_800_000_000)
    let author = try await store.write { tx in
      let author = try tx.create(Author.self, in: "home") { $0.name = "Rachel" }
      for (index, title) in ["Über Vögel", "eggs", "Owls"].enumerated() {
        try tx.create(Book.self, in: "home") {
          $0.title = title
          $0.year = 1950 + index
          $0.pages = index == 1 ? nil : 50 + index * 40
          $0.author = author
          $0.subjects.insert("birds")
          $0.summary.set("All of \(title), with pictures")
          if index == 0 { ($0.lent, $0.due) = (day, day.addingTimeInterval(86400)) }
        }
      }
      return author
    }
    #expect(try books(store, by: author) == ["Owls", "eggs", "Über Vögel"])
    let rows = try store.fetch(Book.all)
    #expect(inOrder(rows, of: Locale(identifier: "de_DE")).map(\.title) == ["eggs", "Owls", "Über Vögel"])
    #expect(
      try store.fetch(list("pict", byTitle: true, isShort: false)).map(\.title) == [
        "eggs", "Owls", "Über Vögel",
      ])
    #expect(try store.fetch(list("vogel", byTitle: false, isShort: true)).map(\.title) == ["Über Vögel"])
    #expect(try allTitles(store) == ["Owls", "eggs", "Über Vögel"])
    #expect(try agenda(store, from: day.addingTimeInterval(1)) == ["Über Vögel is due"])
    let text = ExamplesOfThePages.self
    let page = try text.text(of: "Models.docc/Queries.md")
    let query = Book.where { $0.author == author && $0.subjects.contains("birds") }.sorted(
      by: \.year, .reverse)
    let plan = "\(try store.explain(query.limit(20)))".replacingOccurrences(
      of: author.record.name.rawValue, with: "…")
    for line in plan.split(separator: "\n") { #expect(page.contains(line), "\(line)") }
  }
}
