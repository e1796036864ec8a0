import Foundation
import StoreTesting
import Testing
import Tributary

private struct Media: Model {
  static let type: Name = "media"
  static let submodels: [any Model.Type] = [Photo.self, Film.self]
  let title = Field<String>("title", default: "untitled").indexed
  let year = Field<Int>("year")
  let likes = CounterField("likes")
  let tags = SetField<String>("tags").indexed
}

private struct Photo: Submodel {
  static let type: Name = "photo"
  static let submodels: [any Model.Type] = [Panorama.self]
  let parent = Media()
  let width = Field<Int>("width").indexed
  let people = ListField<String>("people")
}

private struct Panorama: Submodel {
  static let type: Name = "panorama"
  let parent = Photo()
  let degrees = Field<Double>("degrees")
}

private struct Film: Submodel {
  static let type: Name = "film"
  let parent = Media()
  let minutes = Field<Int>("minutes")
}

private struct Orphan: Submodel {
  static let type: Name = "orphan"
  let parent = Film()
}

private struct Deserter: Model {
  static let type: Name = "deserter"
  static let submodels: [any Model.Type] = [Film.self]
}

@Suite("Submodels")
struct SubmodelTests {
  let directory = TemporaryDirectory()

  @Test("have their parent's fields; queries and indexes of the parent have their records")
  func family() async throws {
    let store = try Store(directory.path + "/store", .consistent, models: [Media.self], zones: [.local("a")])
    let (plain, photo, panorama, film) = try await store.write { tx in
      (
        try tx.create(Media.self, in: "a", named: "m") { $0.title = "plain" },
        try tx.create(Photo.self, in: "a", named: "p") {
          $0.title = "beach"
          $0.year = 2020
          $0.width = 800
          $0.likes.add(2)
          $0.tags.insert("sea")
          $0.people.append("ann")
        },
        try tx.create(Panorama.self, in: "a", named: "q") {
          $0.title = "alps"
          $0.year = 2021
          $0.width = 4000
          $0.degrees = 180
          $0.tags.insert("snow")
        },
        try tx.create(Film.self, in: "a", named: "f") { $0.minutes = 90 }
      )
    }
    let row = try #require(try store.fetch(photo))
    #expect(row.title == "beach" && row.width == 800 && row.likes == 2 && row.people.map(\.value) == ["ann"])
    #expect(row.parent.title == "beach" && row.parent.id == Ref<Media>(photo))
    let wide = try #require(try store.fetch(panorama))
    #expect(wide.title == "alps" && wide.width == 4000 && wide.degrees == 180)
    #expect(wide.parent.parent.tags == ["snow"])

    #expect(try store.fetch(Media.self, in: "a").map(\.title) == ["untitled", "plain", "beach", "alps"])
    #expect(try store.fetch(Photo.self, in: "a").map(\.title) == ["beach", "alps"])
    #expect(try store.keys(Media.where { $0.year >= 2020 }.sorted(by: \.title)).map(\.name) == ["q", "p"])
    #expect(try store.count(Film.all) == 1 && store.count(Media.all) == 4)
    #expect(try store.fetch(Ref<Photo>(panorama))?.width == 4000)
    #expect(try store.fetch(Ref<Media>(in: "a", "q"))?.ref(as: Panorama.self) == panorama)
    #expect(try store.fetch(Ref<Media>(in: "a", "p"))?.ref(as: Photo.self) == photo)
    #expect(try store.fetch(Ref<Media>(in: "a", "q"))?.ref(as: Photo.self) == Ref<Photo>(panorama))
    #expect(try store.fetch(Ref<Photo>(in: "a", "f")) == nil && store.fetch(plain)?.title == "plain")

    let byTitle = try store.explain(Media.where { $0.title == "alps" })
    #expect(byTitle.index == "media: title")
    let ofPhotos = Photo.where { $0.tags.contains("snow") }
    #expect(try store.explain(ofPhotos).index == "media: tags" && store.keys(ofPhotos) == [Ref(panorama)])
    #expect(try store.count(Film.where { $0.title == "alps" }) == 0)
    #expect(try store.explain(Photo.where { $0.width > 900 }).index == "photo: width")
    #expect(try store.local.indexes().count == 3)

    struct Shown: Codable, Equatable {
      var title: String
      var width: Int
      var degrees: Double
    }
    var shown = try wide.decode(Shown.self)
    #expect(shown == Shown(title: "alps", width: 4000, degrees: 180))
    shown.title = "dolomites"
    try await store.write { [shown] tx in
      try tx.update(panorama, with: shown)
      tx[panorama].likes.add(1)
      tx[Ref<Media>(film)].title = "film"
      tx[panorama].parent.width = 5000
    }
    #expect(try store.fetch(panorama)?.title == "dolomites" && store.fetch(panorama)?.likes == 1)
    #expect(try store.fetch(panorama)?.width == 5000 && store.fetch(film)?.title == "film")
    #expect(try store.local.verify().problems == [])
    // Submodels may be listed beside their parents.
    store.close()
    let again = try Store(
      directory.path + "/store", .consistent, models: [Photo.self, Media.self, Film.self])
    #expect(try again.local.indexes().count == 3 && again.count(Media.all) == 4)
    #expect(try await again.dryRun([Media.self, Photo.self]).recordCount == 4)
  }

  @Test("and parents must name each other")
  func checked() throws {
    for models: [any Model.Type] in [[Orphan.self], [Deserter.self]] {
      #expect {
        try Store(directory.path + "/refused", .consistent, models: models)
      } throws: {
        ($0 as? StoreError)?.code == .nameInvalid
      }
    }
  }
}
