public import OperationFormat

/// What a query looks at in a record.
public struct QueryField: Hashable, Sendable {
  /// What it is, in the record or in the one that ``path`` leads to.
  public enum Subject: Hashable, Sendable {
    /// The record's name.
    case name
    /// The value of a field: see ``QueryField/value(of:)``.
    case field(Name, FieldKind)
    /// The value of the field that a row stands for: see ``RecordQuery/each``.
    case each
  }

  public var subject: Subject
  /// Names that the field had before. Of registers that are set, the later write counts. To a counter, the
  /// numbers are added that registers of these names have, and to a set the elements of their arrays.
  public var formerNames: [Name]
  /// The fields with references that lead to the record, from the one that is looked at.
  public var path: [Name]
  /// The keys that lead into the value, if it is a map.
  public var members: [Name]
  /// What counts where there is no value.
  public var fallback: Value
  /// Whether case and diacritics of a text do not count: “É” and “e” are the same then.
  public var isFolded: Bool
  /// What values of an earlier version of the app become.
  public var upcast: ValueUpcast?
  /// Whether members of a list's elements merge one by one: each is what was written to it last. The list's
  /// elements are maps, each with an identity in `#`, and a map of the same name has the members that were
  /// changed since.
  public var mergesMembers = false

  /// - Parameters:
  ///   - subject: what it is.
  ///   - formerNames: names that the field had before.
  ///   - path: the fields with references that lead to the record.
  ///   - members: the keys that lead into the value.
  ///   - fallback: what counts where there is no value.
  ///   - isFolded: whether case and diacritics of a text do not count.
  ///   - upcast: what values of an earlier version of the app become.
  public init(
    _ subject: Subject, formerNames: [Name] = [], path: [Name] = [], members: [Name] = [],
    fallback: Value = .null, isFolded: Bool = false, upcast: ValueUpcast? = nil
  ) {
    (self.subject, self.formerNames, self.path) = (subject, formerNames, path)
    (self.members, self.fallback, self.isFolded, self.upcast) = (members, fallback, isFolded, upcast)
  }

  /// The field without case and diacritics.
  public var folded: QueryField {
    var field = self
    field.isFolded = true
    return field
  }

  /// The value of the field that a row stands for: see ``RecordQuery/each``.
  public static let each = QueryField(.each)

  /// The value of a register.
  public static func value(of field: Name) -> QueryField { QueryField(.field(field, .register)) }
}

extension QueryField {
  /// The name of a register, if that is all there is to the field.
  var plainName: Name? {
    guard case .field(let name, .register) = subject, path.isEmpty, members.isEmpty, formerNames.isEmpty,
      !isFolded, upcast == nil
    else { return nil }
    return name
  }
}

extension QueryField: CustomStringConvertible {
  /// Its path, as in the text form of queries: `post.headline`.
  public var description: String {
    let own: Name
    switch subject {
    case .name: own = "name"
    case .field(let name, _): own = name
    case .each: own = "each"
    }
    return (isFolded ? "folded " : "") + (path + [own] + members).map(\.rawValue).joined(separator: ".")
  }
}
