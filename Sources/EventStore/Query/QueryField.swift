public import OperationFormat

/// What a query looks at in a record.
public struct QueryField: Hashable, Sendable {
  /// What it is, in the record or in the one that ``path`` leads to.
  public enum Subject: Hashable, Sendable {
    /// The record's name.
    case name
    /// The value of a field: see ``QueryField/value(of:)``.
    case field(Name, FieldKind)
  }

  public var subject: Subject
  /// Names that the field had before, for a register: of all that are set, the later write counts.
  public var formerNames: [Name]
  /// The fields with references that lead to the record, from the one that is looked at.
  public var path: [Name]
  /// The keys that lead into the value, if it is a map.
  public var members: [Name]
  /// What counts where there is no value.
  public var fallback: Value

  /// - Parameters:
  ///   - subject: what it is.
  ///   - formerNames: names that the field had before.
  ///   - path: the fields with references that lead to the record.
  ///   - members: the keys that lead into the value.
  ///   - fallback: what counts where there is no value.
  public init(
    _ subject: Subject, formerNames: [Name] = [], path: [Name] = [], members: [Name] = [],
    fallback: Value = .null
  ) {
    (self.subject, self.formerNames, self.path) = (subject, formerNames, path)
    (self.members, self.fallback) = (members, fallback)
  }

  /// The value of a register.
  public static func value(of field: Name) -> QueryField { QueryField(.field(field, .register)) }
}

extension QueryField: CustomStringConvertible {
  /// Its path, as in the text form of queries: `post.headline`.
  public var description: String {
    let own: Name
    switch subject {
    case .name: own = "name"
    case .field(let name, _): own = name
    }
    return (path + [own] + members).map(\.rawValue).joined(separator: ".")
  }
}
