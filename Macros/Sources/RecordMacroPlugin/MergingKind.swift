import SwiftSyntax

/// The kind of field that a type merges as.
struct MergingKind {
  /// The type of the field.
  let field: String
  /// The type of the elements of a set or list, or of the values of a map.
  var element: TypeSyntax?
  /// The label of the argument of `@Merging` that the kind has.
  var argument: String?
  let canBeIndexed: Bool
  /// Whether members of its elements can merge one by one.
  var hasMembers = false

  /// - Returns: nil for a type that does not merge.
  init?(_ type: TypeSyntax) {
    if type.isNamed("Int") {
      (field, argument, canBeIndexed) = ("CounterField", "startingAt", true)
    } else if type.isNamed("Decimal") {
      (field, argument, canBeIndexed) = ("DecimalCounterField", "startingAt", false)
    } else if type.isNamed("String") {
      (field, canBeIndexed) = ("ProseField", false)
    } else if let element = type.arguments(of: "Set", count: 1)?[0] {
      (field, argument, canBeIndexed) = ("SetField<\(element.trimmed)>", "startingWith", true)
      self.element = element
    } else if let element = type.as(ArrayTypeSyntax.self)?.element
      ?? type.arguments(of: "Array", count: 1)?[0]
    {
      (field, argument, canBeIndexed) = ("ListField<\(element.trimmed)>", "filledBy", true)
      self.element = element
      hasMembers = true
    } else if let value = Self.value(type) {
      (field, argument, canBeIndexed) = ("MapField<\(value.trimmed)>", "filledBy", true)
      element = value
    } else {
      return nil
    }
  }

  /// The type of the values of a dictionary with texts as keys.
  private static func value(_ type: TypeSyntax) -> TypeSyntax? {
    let parts =
      type.as(DictionaryTypeSyntax.self).map { [$0.key, $0.value] }
      ?? type.arguments(of: "Dictionary", count: 2)
    guard let parts, parts[0].isNamed("String") else { return nil }
    return parts[1]
  }
}
