/// A reading of the server's clock, in milliseconds since 1970, and the time of the reading.
package struct ServerClock: Hashable, Sendable {
  var reading: Int64
  var readAt: Int64

  /// The wall clock, or the server's if the two differ by more than a little.
  package func time(at context: EventContext) -> Int64 {
    let estimate = reading + (context.now - readAt)
    let difference = estimate.subtractingReportingOverflow(context.wall)
    if difference.overflow
      || difference.partialValue.magnitude > UInt64(ClientLimits.clockToleranceMilliseconds)
    {
      return estimate
    }
    return context.wall
  }
}
