import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// The attributes of properties that say how they are stored.
enum Marker: String, CustomStringConvertible {
  case named = "Named"
  case formerly = "Formerly"
  case indexed = "Indexed"
  case reference = "Reference"
  case merging = "Merging"
  case mergingMembers = "MergingMembers"

  var description: String { rawValue }

  init?(_ attribute: AttributeSyntax) { self.init(rawValue: attribute.plainName) }
}

/// Those of one property.
struct Markers {
  private var found: [Marker: AttributeSyntax] = [:]

  /// - Throws: `DiagnosticsError` for an attribute that changes how the property is stored.
  init(_ attributes: AttributeListSyntax, of property: String) throws(DiagnosticsError) {
    for element in attributes {
      guard let attribute = element.as(AttributeSyntax.self) else {
        throw Problem.conditionalAttribute(property).at(element)
      }
      if let marker = Marker(attribute) {
        guard found.updateValue(attribute, forKey: marker) == nil else {
          throw Problem.twice(marker).at(attribute)
        }
      } else if attribute.plainName.first?.isUppercase == true {
        // Those of the language are in lower case. What is left are property wrappers, macros and global
        // actors.
        throw Problem.wrapper(property, attribute: attribute.plainName).at(attribute)
      }
    }
  }

  var isEmpty: Bool { found.isEmpty }

  subscript(marker: Marker) -> AttributeSyntax? { found[marker] }

  func arguments(of marker: Marker) -> [LabeledExprSyntax] {
    guard case .argumentList(let arguments)? = found[marker]?.arguments else { return [] }
    return Array(arguments)
  }
}

/// The attributes of properties write nothing: ``RecordMacro`` reads them.
enum MarkerMacro: PeerMacro {
  static func expansion(
    of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    let owner = context.lexicalContext.first?.asProtocol((any WithAttributesSyntax).self)
    let isInRecord =
      owner?.attributes.contains { $0.as(AttributeSyntax.self)?.plainName == "Record" } ?? false
    if let marker = Marker(node), !(isInRecord && declaration.is(VariableDeclSyntax.self)) {
      throw Problem.outside(marker).at(node)
    }
    return []
  }
}

extension AttributeSyntax {
  /// Its name without a module.
  var plainName: String {
    attributeName.as(MemberTypeSyntax.self)?.name.text ?? attributeName.as(IdentifierTypeSyntax.self)?.name
      .text ?? attributeName.trimmedDescription
  }
}
