internal import RemoteWire

/// A request that was admitted, and whose body is to be read.
public final class ServiceCall: Sendable {
  private let service: RemoteService
  let request: WireRequest
  let target: Router.Target
  let place: ServicePlace
  let key: CallBudget.Key
  /// The most bytes that its body may have. If it has more, give ``answer(_:)`` one byte more: it refuses that.
  public let bodyBytesMax: Int
  /// Room for the body.
  let hold: CallBudget.Hold

  init(
    service: RemoteService, request: WireRequest, target: Router.Target, place: ServicePlace,
    key: CallBudget.Key, bodyBytesMax: Int, hold: CallBudget.Hold
  ) {
    (self.service, self.request, self.target, self.place) = (service, request, target, place)
    (self.key, self.bodyBytesMax, self.hold) = (key, bodyBytesMax, hold)
  }

  /// Makes the call.
  public func answer(_ body: [UInt8]) async -> ServiceResponse {
    defer { hold.end() }
    do {
      return try await service.answer(self, body)
    } catch {
      return service.refusal(error)
    }
  }
}
