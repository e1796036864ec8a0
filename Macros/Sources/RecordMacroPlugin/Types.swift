import SwiftSyntax
import SwiftSyntaxBuilder

extension TypeSyntax {
  /// What an optional may have; nil for another type.
  var wrapped: TypeSyntax? {
    self.as(OptionalTypeSyntax.self)?.wrappedType ?? arguments(of: "Optional", count: 1)?[0]
  }

  /// The arguments of a generic type of a name, also of one with its module; nil for another type.
  func arguments(of name: String, count: Int) -> [TypeSyntax]? {
    let clause: GenericArgumentClauseSyntax?
    if let type = self.as(IdentifierTypeSyntax.self), type.name.text == name {
      clause = type.genericArgumentClause
    } else if let type = self.as(MemberTypeSyntax.self), type.name.text == name {
      clause = type.genericArgumentClause
    } else {
      return nil
    }
    let arguments =
      clause?.arguments.compactMap { argument -> TypeSyntax? in
        if case .type(let type) = argument.argument { type } else { nil }
      } ?? []
    return arguments.count == count ? arguments : nil
  }

  var isReference: Bool { arguments(of: "Ref", count: 1) != nil }

  /// Whether it is a type of a name, also with its module.
  func isNamed(_ name: String) -> Bool {
    self.as(IdentifierTypeSyntax.self)?.name.text == name
      || self.as(MemberTypeSyntax.self)?.name.text == name
  }
}

extension ExprSyntax {
  /// The type that an initial value shows; nil if it does not.
  var shownType: TypeSyntax? {
    switch kind {
    case .stringLiteralExpr: "String"
    case .integerLiteralExpr: "Int"
    case .floatLiteralExpr: "Double"
    case .booleanLiteralExpr: "Bool"
    case .prefixOperatorExpr: self.as(PrefixOperatorExprSyntax.self)?.expression.shownNumber
    case .functionCallExpr: self.as(FunctionCallExprSyntax.self)?.calledExpression.namedType
    case .memberAccessExpr: self.as(MemberAccessExprSyntax.self)?.base?.namedType
    default: nil
    }
  }

  private var shownNumber: TypeSyntax? {
    self.is(IntegerLiteralExprSyntax.self) || self.is(FloatLiteralExprSyntax.self) ? shownType : nil
  }

  /// The type that an expression names, as the `Item` of `Item(text: "")`. Types begin with a capital letter.
  private var namedType: TypeSyntax? {
    switch kind {
    case .declReferenceExpr:
      self.as(DeclReferenceExprSyntax.self).flatMap { $0.baseName.isTypeName ? "\($0.trimmed)" : nil }
    case .memberAccessExpr:
      self.as(MemberAccessExprSyntax.self).flatMap { member in
        if member.declName.baseName.text == "init" { return member.base?.namedType }
        return member.declName.baseName.isTypeName && member.base != nil ? "\(member.trimmed)" : nil
      }
    case .genericSpecializationExpr:
      self.as(GenericSpecializationExprSyntax.self).flatMap {
        $0.expression.namedType == nil ? nil : "\($0.trimmed)"
      }
    case .arrayExpr:
      self.as(ArrayExprSyntax.self).flatMap { array in
        array.elements.count == 1 && array.elements.first?.expression.namedType != nil
          ? "\(array.trimmed)" : nil
      }
    case .dictionaryExpr: "\(self.trimmed)"
    default: nil
    }
  }

  /// Whether it is another value at each evaluation, as `Date()`. It finds the usual ones.
  ///
  /// - Parameter type: the type of the property.
  func isChanging(_ type: TypeSyntax) -> Bool {
    if tokens(viewMode: .sourceAccurate).contains(where: \.isChangingMember) { return true }
    guard type.isNamed("Date") || type.isNamed("UUID"), let call = self.as(FunctionCallExprSyntax.self) else {
      return false
    }
    return call.arguments.isEmpty || call.arguments.first?.label?.text == "timeIntervalSinceNow"
  }
}

extension TokenSyntax {
  /// Whether it is the `now` of `Date.now`, or the like.
  fileprivate var isChangingMember: Bool {
    ["now", "random"].contains(text) && parent?.parent?.is(MemberAccessExprSyntax.self) == true
  }

  fileprivate var isTypeName: Bool { text.first?.isUppercase == true }

  /// The name that it stands for, without backticks.
  var plainText: String { identifier?.name ?? text }
}

/// Puts a struct's name in place of `Self`, which means another type in the nested model.
final class SelfRewriter: SyntaxRewriter {
  private let name: String

  init(_ name: String) {
    self.name = name
    super.init(viewMode: .sourceAccurate)
  }

  override func visit(_ token: TokenSyntax) -> TokenSyntax {
    token.tokenKind == .keyword(.Self) ? token.with(\.tokenKind, .identifier(name)) : token
  }
}
