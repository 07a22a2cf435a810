extension RefusalCode {
  /// The name that users and scripts see.
  package var name: String {
    switch self {
    case .unsupportedVersion: "unsupportedVersion"
    case .unauthorized: "unauthorized"
    case .revoked: "revoked"
    case .wrongWorkspace: "wrongWorkspace"
    case .wrongCode: "wrongCode"
    case .tooManyAttempts: "tooManyAttempts"
    case .invalidChanges: "invalidChanges"
    case .limitReached: "limitReached"
    case .storageFailed: "storageFailed"
    case .unavailable: "unavailable"
    case .tooManyConnections: "tooManyConnections"
    case .authenticationBudget: "authenticationBudget"
    case .rateLimited: "rateLimited"
    case .outOfOrder: "outOfOrder"
    case .notAllowed: "notAllowed"
    default: "code\(rawValue)"
    }
  }
}
