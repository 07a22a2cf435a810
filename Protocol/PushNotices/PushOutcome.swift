/// What became of one attempt to push. The caller keeps count of the attempts.
package enum PushOutcome: Hashable, Sendable {
  /// The provider has it, under this name of its own if it gives one.
  case delivered(providerID: String?)
  /// Not now. `after` is what the provider asked for; nil leaves it to the caller's schedule.
  case retry(after: Duration?, reason: String)
  /// The address is no more; never send to it again. `since` in milliseconds since 1970 if the
  /// provider named a time.
  case invalidTarget(reason: String, since: Int64?)
  /// The server's own set-up is wrong: nothing of this kind can be sent until it is changed.
  case configurationError(reason: String)
  /// What is wrong is this target's own: its address, access token or topic. It may be put right
  /// without being registered anew, so what waits for it may still be sent.
  case targetError(reason: String)
  /// This one notice is not taken; others may be. It is not tried again.
  case rejected(reason: String)
}
