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
/// Its records have the parent's fields and its own. A query on the parent has them too, and so have the parent's
/// indexes. Each names the other: the parent its submodels, so that a query needs no list of all models.
public protocol Submodel: Model {
  associatedtype Parent: Model

  var parent: Parent { get }
}

extension Ref {
  /// The same record, as one of its model's parent.
  public init<S: Submodel>(_ ref: Ref<S>) where S.Parent == M { record = ref.record }
}

extension Row {
  /// The record as one of a submodel; nil if it is none.
  ///
  /// ```swift
  /// if let image = try row.ref(as: ImagePost.self).flatMap({ try store.fetch($0) }) { show(image.image) }
  /// ```
  public func ref<S: Submodel>(as model: S.Type) -> Ref<S>? {
    ModelSchema.of(model).types.contains(registers.type) ? Ref(id.record) : nil
  }
}

extension Row where M: Submodel {
  /// The record as one of the parent.
  public var parent: Row<M.Parent> { Row<M.Parent>(self) }

  public subscript<Found>(dynamicMember path: KeyPath<Row<M.Parent>, Found>) -> Found {
    parent[keyPath: path]
  }
}

extension Editor where M: Submodel {
  /// The record as one of the parent.
  public var parent: Editor<M.Parent> {
    Editor<M.Parent>(id: Ref(id), write: write, schema: .of(M.Parent.self))
  }

  public subscript<Found>(dynamicMember path: KeyPath<Editor<M.Parent>, Found>) -> Found {
    parent[keyPath: path]
  }

  public subscript<Found>(dynamicMember path: ReferenceWritableKeyPath<Editor<M.Parent>, Found>) -> Found {
    get { parent[keyPath: path] }
    nonmutating set { parent[keyPath: path] = newValue }
  }
}

extension Columns where M: Submodel {
  public subscript<Found>(dynamicMember path: KeyPath<Columns<M.Parent>, Found>) -> Found {
    Columns<M.Parent>(path: self.path)[keyPath: path]
  }
}
