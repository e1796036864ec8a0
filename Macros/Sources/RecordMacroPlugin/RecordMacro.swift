import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// Writes the model of a struct, and makes the struct a `RecordStruct`.
enum RecordMacro {}

extension RecordMacro: MemberMacro {
  static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    let record = try RecordDeclaration(node, of: declaration)
    for diagnostic in record.diagnostics { context.diagnose(diagnostic) }
    return [record.model]
  }
}

extension RecordMacro: ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    // What has no model is no RecordStruct. The other expansion says why.
    guard !protocols.isEmpty, let declaration = declaration.as(StructDeclSyntax.self),
      declaration.genericParameterClause == nil
    else { return [] }
    // Each of them by name: the compiler does not find those that only come with another one. Nonisolated,
    // because a module may give all its code to the main actor, and transactions run elsewhere.
    let names = protocols.map(\.trimmedDescription).joined(separator: ", ")
    return [try ExtensionDeclSyntax("nonisolated extension \(type.trimmed): \(raw: names) {}")]
  }
}
