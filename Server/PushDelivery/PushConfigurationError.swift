/// A fault in the setup of a provider, as text for the server's operator. It quotes no key.
package enum PushConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
  case keyNotReadable
  case badKeyID
  case badTeamID
  case noTopic
  case badAnswerURL
  case noAnswerKey
  case trustedRootNotReadable(file: String, reason: String)
  case noTrustedRoot(file: String)
  case trustedRootExpired(file: String)

  package var description: String {
    switch self {
    case .keyNotReadable:
      "The file contains no private key for APNs. Use the AuthKey_….p8 file from Apple: PEM, "
        + "P-256, without a passphrase."
    case .badKeyID:
      "The key id is 10 capital letters and digits. Apple shows it beside the key, and in the "
        + "file's name."
    case .badTeamID:
      "The team id is 10 capital letters and digits. Apple shows it under Membership."
    case .noTopic: "Name the app's bundle id as the topic."
    case .badAnswerURL:
      "The address that answers are sent to must be an https URL without a user name and a query: "
        + "https://cospool.example."
    case .noAnswerKey:
      "There is no key that signs the buttons. To create one: cospool-server push configure answers"
    case .trustedRootNotReadable(let file, let reason): "\(file) cannot be read: \(reason)"
    case .noTrustedRoot(let file): "\(file) contains no certificate in PEM."
    case .trustedRootExpired(let file): "\(file) contains only certificates that have expired."
    }
  }
}
