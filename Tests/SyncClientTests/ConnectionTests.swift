import Foundation
import QueueModel
import SequenceCRDT
import SyncClient
import SyncTestSupport
import Testing
import WireProtocol

@Suite struct ClientConnectionTests {
  @Test func pairingStoresCredentialsForTheOwnerAloneAndSyncs() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        try await client.perform(.text("one", 1))
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        #expect(try fixture.server.workspace.texts() == ["one"])
        let path = fixture.directory + "/credentials.json"
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        let status = client.syncStatus()
        #expect(status.state == .connected)
        #expect(status.server == fixture.server.url)
        #expect(status.workspace == ScriptedServer.workspaceID.description)
        #expect(status.outgoing == 0)
        // The first connection is for pairing, the second for the session.
        #expect(fixture.server.connections == 2)
      }
    }
  }

  @Test func credentialsOutliveTheDatabase() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        try await client.perform(.text("one", 1))
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
      }
      for suffix in ["", "-wal", "-shm"] {
        try? FileManager.default.removeItem(
          atPath: fixture.directory + "/cospool.sqlite" + suffix)
      }
      try await fixture.running(paired: false) { client in
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        #expect(try client.workspace().texts() == ["one"])
      }
    }
  }

  // N-3: the device that had the session learns it from its feed, like all others.
  @Test func aTakeOverIsReported() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        let (session, other) = (try SessionID("a"), DeviceID(high: 0xD, low: 2))
        var author = TestDevice(1)
        try author.perform(.addSession(session, name: nil, project: nil))
        try author.perform(.setHost(session, client.deviceID))
        let known = author.made.count
        try fixture.server.publish(author.made)
        var hosts: [DeviceID?] = []
        for await item in try await client.events() {
          guard case .changed(.session(let view)) = item.event, view.id == session else { continue }
          hosts.append(view.host)
          if view.host == other { break }
          guard view.host == client.deviceID else { continue }
          try author.perform(.setHost(session, other))
          try fixture.server.publish(Array(author.made[known...]))
        }
        #expect(hosts.suffix(2) == [client.deviceID, other])
      }
    }
  }

  @Test func remoteChangesShowInViews() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        var author = TestDevice(1)
        try author.perform(.send("remote", as: 1, in: "a"))
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        try fixture.server.publish(author.made)
        for await view in client.queues.updates(of: try SessionID("a")) {
          if view.messages.map(\.content) == ["remote"] { break }
        }
        // The device reports its position once it has stored it.
        for await frame in fixture.server.arrivals {
          if case .ack(let ack) = frame, ack.prefix.position == 1 { break }
        }
      }
    }
  }

  @Test func lostAcknowledgementLeadsToNoDuplicate() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        fixture.server.change { $0.cutsAfterStoring = 1 }
        let receipt = try await client.perform(.text("once", 1))
        try await client.perform(.text("twice", 2))
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        #expect(try fixture.server.workspace.texts() == ["once", "twice"])
        let range = try #require(receipt.operations)
        #expect(await client.changeState(range) == .onServer)
        // Every id that was sent again named the same operation.
        var seen: [OperationID: QueueModel.Operation] = [:]
        for case .changes(let changes) in fixture.server.received {
          for operation in try PackedDelta.unpack(changes.delta) {
            #expect(seen[operation.id] == nil || seen[operation.id] == operation)
            seen[operation.id] = operation
          }
        }
        #expect(client.syncStatus().outgoing == 0)
      }
    }
  }

  @Test func snapshotBringsANewDeviceUpToDate() async throws {
    try await ClientFixture.withServer { fixture in
      var author = TestDevice(1, queueSizeMax: 1_000)
      for number in 1...200 as ClosedRange<UInt64> {
        try author.perform(.send("text \(number)", as: number, in: "a"))
      }
      try fixture.server.publish(author.made)
      fixture.server.change { $0.sendsSnapshots = true }
      try await fixture.running { client in
        try await client.perform(.text("mine", 1, in: "b"))
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        #expect(try client.workspace().texts().count == 200)
        #expect(try fixture.server.workspace.texts("b") == ["mine"])
      }
      let again = try await fixture.open()
      #expect(try again.workspace().texts().count == 200)
      #expect(try again.workspace().texts("b") == ["mine"])
      await again.close()
    }
  }

  @Test func revokedDeviceKeepsItsDataAndSaysWhatToDo() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        fixture.server.push(.refused(Refusal(code: .revoked, message: "revoked")))
        for await status in client.syncStatusUpdates() where status.state == .refused { break }
        await #expect(throws: ClientError.notAllowed(.ended(reason: "revoked"))) {
          try await client.perform(.text("refused", 1))
        }
        #expect(client.syncStatus().refusalCode == "revoked")
        #expect(client.syncStatus().outgoing == 0)
        await #expect(throws: ClientError.authentication(message: "revoked")) {
          try await client.waitUntilSynced(timeout: ClientFixture.patience)
        }
        // Pairing again restores it.
        _ = try await client.pair(server: fixture.server.url, code: "BCDFGHJK")
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        try await client.perform(.text("taken", 2))
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        #expect(try fixture.server.workspace.texts() == ["taken"])
      }
    }
  }

  @Test func wrongCodeIsRefused() async throws {
    try await ClientFixture.withServer { fixture in
      fixture.server.change {
        $0.pairing = .refused(Refusal(code: .wrongCode, message: "wrong"))
      }
      let client = try await fixture.open()
      await #expect(throws: ClientError.refused(code: "wrongCode", message: "wrong")) {
        _ = try await client.pair(server: fixture.server.url, code: "WRNGCODE")
      }
      #expect(
        !FileManager.default.fileExists(atPath: fixture.directory + "/credentials.json"))
      await client.close()
    }
  }

  @Test func pairingWithASecondServerIsRefused() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        await #expect(throws: ClientError.alreadyPaired(server: fixture.server.url)) {
          _ = try await client.pair(server: "ws://127.0.0.1:1", code: "BCDFGHJK")
        }
      }
    }
  }

  @Test func goAwayIsFollowedByAReturn() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        fixture.server.push(
          .goAway(
            GoAway(
              reconnectAfterMillisecondsMin: 10, reconnectAfterMillisecondsMax: 20,
              reason: "restart")))
        for await status in client.syncStatusUpdates() where !status.synced { break }
        try await client.perform(.text("after", 1))
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        #expect(fixture.server.connections == 3)
      }
    }
  }

  @Test func waitingWithoutAServerSaysSo() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running(paired: false) { client in
        await #expect(throws: ClientError.notPaired) {
          try await client.waitUntilSynced(timeout: ClientFixture.patience)
        }
      }
    }
  }

  @Test func syncThatIsOffStaysOffOverReopening() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        try await client.setSyncEnabled(false)
        #expect(client.syncStatus().state == .disabled)
      }
      try await fixture.running(paired: false) { client in
        try await client.perform(.text("later", 1))
        await #expect(throws: ClientError.syncDisabled) {
          try await client.waitUntilSynced(timeout: ClientFixture.patience)
        }
        try await client.setSyncEnabled(true)
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        #expect(try fixture.server.workspace.texts() == ["later"])
      }
    }
  }

  @Test func unreachableServerEndsTheWaitByTimeout() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        try await fixture.server.stop()
        try await client.perform(.text("unsent", 1))
        await #expect(throws: ClientError.timeout) {
          try await client.waitUntilSynced(timeout: .milliseconds(50))
        }
      }
    }
  }

  @Test func anAddressWhereNothingListensIsNamed() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      // No server of another test gets this port, as it might get one that was just closed.
      let url = "ws://127.0.0.1:1"
      await #expect(
        throws: ClientError.unreachable(
          message: "nothing answers at \(url). Check the address, and that the server runs")
      ) { _ = try await client.pair(server: url, code: "BCDFGHJK") }
      await client.close()
    }
  }

  @Test func serverWithoutTheSubprotocolIsNone() async throws {
    try await ClientFixture.withServer(ScriptedServer(subprotocol: nil)) { fixture in
      let client = try await fixture.open()
      do {
        _ = try await client.pair(server: fixture.server.url, code: "BCDFGHJK")
        Issue.record("paired")
      } catch let error as ClientError {
        #expect(error.exitCode == 4)
      }
      await client.close()
    }
  }

  @Test func runReturnsWhenTheClientIsClosed() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      async let run: Void = client.run()
      _ = try await client.pair(server: fixture.server.url, code: "BCDFGHJK")
      try await client.waitUntilSynced(timeout: ClientFixture.patience)
      await client.close()
      try await run
      await #expect(throws: ClientError.closed) {
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
      }
    }
  }
}
