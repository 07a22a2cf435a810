/// The limits of everything that can grow here.
package enum PushLimits {
  /// Apple's limit of a payload, bytes.
  package static let apnsPayloadBytesMax = 4_096
  /// A message of an ntfy server, bytes; the server turns longer ones into attachments.
  package static let ntfyMessageBytesMax = 4_096
  /// The body of a webhook's request, bytes.
  package static let webhookBodyBytesMax = 16_384
  /// The part of an answer that is read, bytes.
  package static let answerBytesMax = 16_384
  /// The length of a text on a locked screen, in characters.
  package static let shownCharactersMax = 200
  /// The part of a text that is examined before it is redacted and cut, bytes.
  package static let redactedBytesMax = 16_384
  /// The text form of an address, bytes.
  package static let addressBytesMax = 4_096
  /// The id of a session, bytes.
  package static let sessionBytesMax = 128
  /// A device token, bytes. Apple specifies no length; present ones have 32 to about 130.
  package static let deviceTokenBytes = 16...256
  /// The time limit of one request, from connecting to the last byte of the answer.
  package static let requestDeadline = Duration.seconds(10)
}
