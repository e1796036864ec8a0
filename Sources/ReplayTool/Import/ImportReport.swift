/// What an import did.
protocol ImportReport {
  var text: String { get }
  var json: JSON { get }
  /// Assets that were left out.
  var assetFailures: AssetFailures { get }
}

extension ImportReport {
  var assetFailures: AssetFailures { AssetFailures() }
}
