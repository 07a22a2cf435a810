package import QueueModel
import SequenceCRDT
package import WireProtocol

/// Names one connection; it identifies events of earlier ones, which are dropped.
package struct TransportID: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}

/// The credentials of a device.
package struct Credentials: Hashable, Sendable {
  /// The server's address, as the user entered it.
  package var server: String
  package var workspace: WorkspaceID
  package var workspaceName: String
  package var token: [UInt8]

  package init(server: String, workspace: WorkspaceID, workspaceName: String, token: [UInt8]) {
    self.server = server
    self.workspace = workspace
    self.workspaceName = workspaceName
    self.token = token
  }
}

/// The latest problem with the server.
package struct ConnectionProblem: Hashable, Sendable {
  package var message: String
  package var refusal: RefusalCode?

  package init(message: String, refusal: RefusalCode? = nil) {
    self.message = message
    self.refusal = refusal
  }
}
