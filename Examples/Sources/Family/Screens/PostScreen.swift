import Tributary

/// The journal: its posts, newest first.
enum PostScreen {
  static let newest = Post.all.sorted(by: \.date, .reverse)

  static func lines(of store: Store) throws -> [String] {
    try store.fetch(newest).flatMap { try lines(of: $0, store) }
  }

  /// The journal in pages: what a list shows that reads more when its end appears.
  static func pages(of store: Store, size: Int) throws -> [[String]] {
    var pages: [[String]] = []
    var query = newest.limit(size)
    while true {
      let page = try store.page(query)
      if !page.rows.isEmpty { pages.append(page.rows.map(\.headline)) }
      guard let next = page.next else { return pages }
      query = query.after(next)
    }
  }

  private static func lines(of post: Row<Post>, _ store: Store) throws -> [String] {
    let title = ["\(post.headline), \(post.likes) likes"] + post.tags.map { "#\($0.name)" }.sorted()
    let files = try store.fetch(attachments(of: post.id)).map {
      "  file \($0.name), \($0.file?.byteCount ?? 0) bytes"
    }
    return [title.joined(separator: " "), "  \(post.body)"] + files
  }

  static func attachments(of post: Ref<Post>) -> Query<Attachment> {
    Attachment.where { $0.post == post }.sorted(by: \.name)
  }
}
