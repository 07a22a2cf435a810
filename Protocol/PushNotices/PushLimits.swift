/// What can grow here, and how far.
package enum PushLimits {
  /// Apple's limit of a payload, bytes.
  package static let apnsPayloadBytesMax = 4_096
  /// A message of an ntfy server, bytes; it turns longer ones into attachments.
  package static let ntfyMessageBytesMax = 4_096
  /// The body of a webhook's request, bytes.
  package static let webhookBodyBytesMax = 16_384
  /// What is read of an answer, bytes. More is not looked at.
  package static let answerBytesMax = 16_384
  /// A text as it is shown on a locked screen.
  package static let shownCharactersMax = 200
  /// What is looked at of a text before it is redacted and cut, bytes.
  package static let redactedBytesMax = 16_384
  /// The text form of an address, bytes.
  package static let addressBytesMax = 4_096
  /// The id of a session, bytes.
  package static let sessionBytesMax = 128
  /// A device token, bytes. Apple names no length; today's have 32 to about 130.
  package static let deviceTokenBytes = 16...256
  /// How long one request may take, from connecting to the last byte of the answer.
  package static let requestDeadline = Duration.seconds(10)
}
