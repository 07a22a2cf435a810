/// The outcome of one attempt to push. The caller counts the attempts.
package enum PushOutcome: Hashable, Sendable {
  /// The provider accepted it, with this id of its own if it gave one.
  case delivered(providerID: String?)
  /// It cannot be sent now. `after` is the wait that the provider requested; nil leaves it to the
  /// caller's schedule.
  case retry(after: Duration?, reason: String)
  /// The address no longer exists; never send to it again. `since` in milliseconds since 1970 if
  /// the provider named a time.
  case invalidTarget(reason: String, since: Int64?)
  /// The server's own setup is wrong: nothing of this kind can be sent until it is changed.
  case configurationError(reason: String)
  /// The fault is in this target: its address, access token or topic. It can be corrected without a
  /// new registration, so its waiting pushes may still be sent.
  case targetError(reason: String)
  /// The provider refuses this one notice; it may accept others. The notice is not tried again.
  case rejected(reason: String)
}
