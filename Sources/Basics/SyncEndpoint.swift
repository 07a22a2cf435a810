/// Where devices ask a server to speak WebSocket, and in which words; SPECIFICATION.md, section "Transport".
package enum SyncEndpoint {
  package static let path = "/v1/sync"
  /// The subprotocol (RFC 6455, section 1.9).
  package static let subprotocol = "cospool.v1"
}
