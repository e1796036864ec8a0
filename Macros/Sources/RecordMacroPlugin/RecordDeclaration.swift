import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder

/// A struct that `@Record` stands at: its properties, and the model that they make.
struct RecordDeclaration {
  private let name: String
  /// The expression of the type's name in the log.
  private let type: ExprSyntax
  /// Who sees the model: those who see the struct.
  private let access: String
  private var hasIndexes = false
  private var fields: [String] = []
  private var ownersOfNames: [String: String] = [:]
  /// What is wrong with single properties. The model is without them.
  private(set) var diagnostics: [Diagnostic] = []

  /// - Throws: `DiagnosticsError` for what has no model at all.
  init(_ attribute: AttributeSyntax, of declaration: some DeclGroupSyntax) throws {
    guard let declaration = declaration.as(StructDeclSyntax.self) else {
      let name = declaration.asProtocol((any NamedDeclSyntax).self)?.name.plainText ?? "it"
      let keyword = declaration.introducer
      throw Problem.notAStruct(name: name, keyword: keyword.text).at(keyword)
    }
    if let parameters = declaration.genericParameterClause { throw Problem.generic.at(parameters) }
    name = declaration.name.text
    guard case .argumentList(let arguments)? = attribute.arguments, let type = arguments.first?.expression
    else { throw Problem.nameLength.at(attribute) }
    self.type = SelfRewriter(name).rewrite(type.trimmed).cast(ExprSyntax.self)
    access = declaration.modifiers.wideAccess
    try check(type.as(StringLiteralExprSyntax.self)?.representedLiteralValue, at: type)
    for member in declaration.memberBlock.members { take(member.decl) }
  }

  /// The model.
  var model: DeclSyntax {
    var parts = ["\(access)static let type: Name = \(type)"]
    if !fields.isEmpty { parts.append(fields.joined(separator: "\n")) }
    if hasIndexes { parts.append("\(access)static var indexes: [Index] { \(name).indexes }") }
    // Without one, the model of a public struct could not be made by others.
    if !access.isEmpty { parts.append("\(access)init() {}") }
    return """
      /// The fields of the records that ``\(raw: name)`` shows.
      \(raw: access)struct Fields: Model {
      \(raw: parts.joined(separator: "\n\n"))
      }
      """
  }

  private mutating func take(_ member: DeclSyntax) {
    if let variable = member.as(VariableDeclSyntax.self) {
      take(variable)
    } else if let type = member.as(EnumDeclSyntax.self), type.name.text == "CodingKeys" {
      report(Problem.codingKeys.at(type.name))
    } else if let block = member.as(IfConfigDeclSyntax.self), let property = block.storedProperty {
      report(Problem.conditional.at(property))
    }
  }

  private mutating func take(_ variable: VariableDeclSyntax) {
    if variable.isStatic, variable.bindings.contains(where: { $0.pattern.trimmedDescription == "indexes" }) {
      hasIndexes = true
    }
    for (index, binding) in variable.bindings.enumerated() {
      do throws(DiagnosticsError) {
        if let property = try storedProperty(variable, binding, at: index) { try take(property) }
      } catch {
        diagnostics += error.diagnostics
      }
    }
  }

  private mutating func take(_ property: StoredProperty) throws(DiagnosticsError) {
    for (name, node) in property.literalNames {
      try check(name, at: node)
      if let owner = ownersOfNames.updateValue(property.text, forKey: name) {
        throw Problem.nameTaken(name, owner: owner).at(node)
      }
    }
    let field = DeclSyntax("\(raw: try property.field())")
    fields.append(SelfRewriter(name).rewrite(field).description)
  }

  /// The property that a binding makes; nil if it has no field.
  private func storedProperty(
    _ variable: VariableDeclSyntax, _ binding: PatternBindingSyntax, at index: Int
  ) throws(DiagnosticsError) -> StoredProperty? {
    guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier else {
      if variable.isStatic { return nil }
      throw Problem.pattern.at(binding.pattern)
    }
    let text = name.plainText
    if variable.isStatic || binding.isComputed {
      for element in variable.attributes {
        guard let attribute = element.as(AttributeSyntax.self), let marker = Marker(attribute) else {
          continue
        }
        throw Problem.notStored(text, marker).at(attribute)
      }
      return nil
    }
    for modifier in variable.modifiers where ["lazy", "weak", "unowned"].contains(modifier.name.text) {
      throw Problem.modifier(text, modifier: modifier.name.text).at(name)
    }
    let markers = try Markers(variable.attributes, of: text)
    let value = binding.initializer?.value
    // In `var x, y: Int` the type stands at the last one.
    let declared =
      value == nil
      ? variable.bindings.dropFirst(index).lazy.compactMap(\.typeAnnotation).first : binding.typeAnnotation
    guard let type = declared?.type ?? value?.shownType else { throw Problem.untyped(text).at(name) }
    if text == "id", markers.isEmpty, (type.wrapped ?? type).isReference { return nil }
    if variable.bindingSpecifier.tokenKind == .keyword(.let), value != nil {
      throw Problem.constant(text).at(name)
    }
    return StoredProperty(
      name: name, type: type, initialValue: value, markers: markers, access: variable.modifiers.access)
  }

  /// Checks a name in the log, as far as it is a literal.
  private func check(_ name: String?, at node: some SyntaxProtocol) throws(DiagnosticsError) {
    if let name, !(1...128).contains(name.utf8.count) { throw Problem.nameLength.at(node) }
  }

  private mutating func report(_ error: DiagnosticsError) { diagnostics += error.diagnostics }
}

extension VariableDeclSyntax {
  var isStatic: Bool { modifiers.contains { $0.name.text == "static" } }
}

extension PatternBindingSyntax {
  /// Whether it has a getter. Observers make a property no other one.
  fileprivate var isComputed: Bool {
    switch accessorBlock?.accessors {
    case nil: false
    case .getter: true
    case .accessors(let accessors):
      !accessors.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
    }
  }
}

extension IfConfigDeclSyntax {
  /// The first property in it that is stored.
  fileprivate var storedProperty: PatternSyntax? {
    let members = clauses.lazy.compactMap { clause -> MemberBlockItemListSyntax? in
      if case .decls(let members)? = clause.elements { members } else { nil }
    }
    let bindings = members.joined().compactMap { $0.decl.as(VariableDeclSyntax.self) }
      .filter { !$0.isStatic }.flatMap(\.bindings)
    return bindings.first { !$0.isComputed }?.pattern
  }
}

extension DeclModifierListSyntax {
  private var accessLevel: String? {
    lazy.filter { $0.detail == nil }.map(\.name.text).first {
      ["public", "package", "internal", "fileprivate", "private"].contains($0)
    }
  }

  /// The access of a field whose property has these modifiers. The model is nested, so what is private in the
  /// struct would be hidden from its queries.
  fileprivate var access: String {
    switch accessLevel {
    case nil, "internal": ""
    case "private", "fileprivate": "fileprivate "
    case let level?: level + " "
    }
  }

  /// The access of a model whose struct has these modifiers, where it must be said.
  fileprivate var wideAccess: String {
    accessLevel.flatMap { ["public", "package"].contains($0) ? $0 + " " : nil } ?? ""
  }
}
