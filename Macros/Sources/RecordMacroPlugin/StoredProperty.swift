import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder

/// A property of a struct with a field of its record.
struct StoredProperty {
  /// As it is declared, with its backticks.
  let name: TokenSyntax
  let type: TypeSyntax
  let initialValue: ExprSyntax?
  let markers: Markers
  /// Who sees the field: those who see the property.
  let access: String

  var text: String { name.plainText }

  /// The expression of the name in the log.
  var storedName: ExprSyntax {
    markers.arguments(of: .named).first?.expression.trimmed ?? "\(literal: text)"
  }

  /// The names in the log that the field has or had, as far as they are literals.
  var literalNames: [(text: String, node: Syntax)] {
    let former = markers.arguments(of: .formerly).map(\.expression)
    let current = markers.arguments(of: .named).first.map { Syntax($0.expression) } ?? Syntax(name)
    return ([(storedName, current)] + former.map { ($0, Syntax($0)) }).compactMap { expression, node in
      expression.as(StringLiteralExprSyntax.self)?.representedLiteralValue.map { ($0, node) }
    }
  }

  /// The field, as it stands in the model.
  ///
  /// - Throws: `DiagnosticsError` if its attributes do not go with each other or with its type.
  func field() throws(DiagnosticsError) -> String {
    if let wrapped = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self)?.wrappedType.trimmedDescription {
      throw Problem.implicitlyUnwrapped(text, wrapped: wrapped).at(name)
    }
    if markers[.mergingMembers] != nil, markers[.merging] == nil || MergingKind(type)?.hasMembers == false {
      throw Problem.noMembers(text).at(name)
    }
    let field = try markers[.merging] == nil ? registerField() : mergingField()
    return "\(access)let \(name.text) = \(field)\(markers[.indexed] == nil ? "" : ".indexed")"
  }

  private func registerField() throws(DiagnosticsError) -> String {
    if type.arguments(of: "Set", count: 1) != nil { throw Problem.unmergedSet(text).at(name) }
    var arguments = [storedName.description]
    let isReference = type.wrapped?.isReference ?? false
    if type.isReference {
      throw Problem.requiredReference(text, type: type.trimmedDescription).at(name)
    }
    if let rule = markers.arguments(of: .reference).first {
      guard isReference else { throw Problem.noReference(text).at(name) }
      arguments.append(rule.expression.trimmedDescription)
    }
    let former = markers.arguments(of: .formerly).map(\.expression.trimmedDescription)
    if !former.isEmpty { arguments.append("formerly: " + former.joined(separator: ", ")) }
    if let value = initialValue, !value.is(NilLiteralExprSyntax.self) {
      if isReference { throw Problem.referenceDefault(text).at(name) }
      if type.wrapped != nil { throw Problem.optionalDefault(text).at(name) }
      if value.isChanging(type) {
        // A UUID has no empty value.
        let type = type.trimmedDescription + (type.isNamed("UUID") ? "?" : "")
        throw Problem.changing(text, type: type).at(name)
      }
      arguments.append("default: \(value.trimmedDescription)")
    }
    return "Field<\(type.trimmedDescription)>(\(arguments.joined(separator: ", ")))"
  }

  private func mergingField() throws(DiagnosticsError) -> String {
    if let wrapped = type.wrapped {
      throw Problem.optionalMerging(text, wrapped: wrapped.trimmedDescription).at(name)
    }
    guard let kind = MergingKind(type) else {
      throw Problem.neverMerges(text, type: type.trimmedDescription).at(name)
    }
    if markers[.formerly] != nil { throw Problem.formerlyMerging(text).at(name) }
    if markers[.indexed] != nil, !kind.canBeIndexed { throw Problem.unindexed(text).at(name) }
    var arguments = [storedName.description]
    let others = markers.arguments(of: .merging)
    if let label = others.first?.label?.text, label != kind.argument {
      let type = type.trimmedDescription
      throw Problem.mergingArgument(text, label: label, type: type).at(name)
    }
    if let rule = markers.arguments(of: .reference).first {
      guard kind.element?.isReference ?? false else { throw Problem.noReference(text).at(name) }
      if !others.isEmpty { throw Problem.mergingRule(text).at(name) }
      arguments.append(rule.expression.trimmedDescription)
    }
    arguments += others.map { $0.with(\.trailingComma, nil).trimmedDescription }
    let members = markers[.mergingMembers] == nil ? "" : ".mergingMembers"
    return "\(kind.field)(\(arguments.joined(separator: ", ")))\(members)"
  }
}
