import Foundation
import NIOHTTP1
import Testing

@testable import SyncDaemon

/// S-23: prompts for opencode go to a server of this user's.
@Suite struct PortOwnerTests {
  private static let table = """
      sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
       0: 0100007F:1000 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 1 1
       1: 0100007F:1001 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1002        0 2 1
       2: 0100007F:1000 0100007F:A000 01 00000000:00000000 00:00000000 00000000  1003        0 3 1
       3: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4 1
    """

  @Test func listenersAreNotified() {
    #expect(PortOwner.users(of: 4_096, in: Self.table) == [1_001])
    #expect(PortOwner.users(of: 80, in: Self.table) == [0])
    #expect(PortOwner.users(of: 81, in: Self.table) == [])
    #expect(PortOwner.users(of: 80, in: "0: :0050 x 0A") == [])
  }

  /// A password with which opencode was started is sent, under its own user name or a chosen one.
  @Test(
    arguments: [
      ([:], nil), (["OPENCODE_SERVER_PASSWORD": ""], nil),
      (["OPENCODE_SERVER_PASSWORD": "a b"], "Basic b3BlbmNvZGU6YSBi"),
      (["OPENCODE_SERVER_PASSWORD": "p", "OPENCODE_SERVER_USERNAME": "ada"], "Basic YWRhOnA="),
    ] as [([String: String], String?)])
  func passwordsGoAlong(environment: [String: String], header: String?) throws {
    let agent = try OpencodeAgent(address: nil, timeoutSeconds: nil, environment: environment)
    #expect(agent.authorization == header)
  }
}
