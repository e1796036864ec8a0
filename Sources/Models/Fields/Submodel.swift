/// A model whose records are records of another one too: an image post is a post.
///
/// ```swift
/// struct Post: Model {
///   static let type: Name = "post"
///   static let submodels: [any Model.Type] = [ImagePost.self]
///   let headline = Field<String>("headline")
/// }
///
/// struct ImagePost: Submodel {
///   static let type: Name = "image post"
///   let parent = Post()
///   let image = Field<String>("image")
/// }
/// ```
///
/// Its records have the parent's fields and its own. A query on the parent has them too, and so have the
/// parent's indexes. Each names the other: the parent its submodels, so that a query needs no list of all
/// models.
public protocol Submodel: Model {
  associatedtype Parent: Model

  var parent: Parent { get }
}

extension Ref {
  /// The same record, as one of its model's parent.
  public init<S: Submodel>(_ ref: Ref<S>) where S.Parent == M { record = ref.record }
}
