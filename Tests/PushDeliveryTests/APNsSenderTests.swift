import Foundation
import PushDelivery
import PushNotices
import PushTestSupport
import Testing

/// Pushes to the fake of Apple's service: headers, payloads, tokens, connections.
@Suite struct APNsSenderTests {
  @Test func anAlertArrivesAsAppleWantsIt() async throws {
    try await PushBed.with { bed in
      let notice = try PushBed.notice(
        body: "Bash: make", details: "more", expiresAt: PushBed.start + 60_000,
        timeSensitive: true)
      let outcome = await bed.sender.send(.alert(notice), to: bed.device())
      let request = try #require(bed.apns.requests.first)
      #expect(outcome == .delivered(providerID: request.header("apns-id")))
      #expect(bed.apns.faults == [])
      #expect(request.path == "/3/device/\(PushBed.deviceToken)")
      #expect(request.header("apns-push-type") == "alert")
      #expect(request.header("apns-topic") == PushBed.topic)
      #expect(request.header("apns-priority") == "10")
      #expect(request.header("apns-expiration") == "1800000060")
      #expect(request.header("apns-collapse-id") == "notice-1")
      let aps = try #require(request.json["aps"] as? [String: Any])
      #expect(
        aps["alert"] as? [String: String] == ["title": "Approval Needed", "body": "Bash: make"])
      #expect(aps["category"] as? String == "APPROVAL_REQUEST")
      #expect(aps["thread-id"] as? String == "session-1")
      #expect(aps["interruption-level"] as? String == "time-sensitive")
      #expect(aps["mutable-content"] as? Int == 1)
      let read = try JSONDecoder().decode(
        PushPayload.self, from: JSONSerialization.data(withJSONObject: request.json))
      #expect(read.requestId == "request-1" && read.clearApprovalId == nil)
      #expect(request.json["requestId"] as? String == "request-1")
      #expect(request.json["link"] as? String == "cospool://session/session-1")
      #expect(request.json["details"] as? String == "more")
    }
  }

  @Test func aRetractionIsSilent() async throws {
    try await PushBed.with { bed in
      let id = try #require(PushNoticeID("notice-1"))
      _ = await bed.sender.send(.retract(id), to: bed.device())
      let request = try #require(bed.apns.requests.first)
      #expect(bed.apns.faults == [])
      #expect(request.header("apns-push-type") == "background")
      #expect(request.header("apns-priority") == "5")
      #expect(request.header("apns-collapse-id") == "notice-1")
      #expect(request.json["clearApprovalId"] as? String == "notice-1")
      let aps = try #require(request.json["aps"] as? [String: Any])
      #expect(aps.keys.sorted() == ["content-available"])
    }
  }

  @Test func liveActivitiesHaveATopicAndAPriorityOfTheirOwn() async throws {
    try await PushBed.with { bed in
      let pushes = [
        try PushBed.activity(.start(attributesType: "TaskAttributes")),
        try PushBed.activity(.update), try PushBed.activity(.update, status: .awaitingApproval),
        try PushBed.activity(.end(dismissalAt: PushBed.start + 5_000), status: .completed),
      ]
      for (index, push) in pushes.enumerated() {
        let device = bed.device(purpose: index == 0 ? .liveActivityStart : .liveActivity)
        guard case .delivered = await bed.sender.send(push, to: device) else {
          Issue.record("\(push) was not delivered: \(bed.apns.faults)")
          return
        }
      }
      let requests = bed.apns.requests
      #expect(requests.allSatisfy { $0.header("apns-push-type") == "liveactivity" })
      #expect(
        requests.allSatisfy {
          $0.header("apns-topic") == "org.example.app.push-type.liveactivity"
        })
      #expect(requests.map { $0.header("apns-priority") } == ["10", "5", "10", "10"])
      let bodies = requests.compactMap { $0.json["aps"] as? [String: Any] }
      #expect(bodies.map { $0["event"] as? String } == ["start", "update", "update", "end"])
      #expect(bodies[0]["attributes-type"] as? String == "TaskAttributes")
      #expect(bodies[0]["attributes"] as? [String: String] == ["sessionId": "session-1"])
      #expect(bodies.map { $0["input-push-token"] as? Int } == [1, nil, nil, nil])
      #expect(bodies[1]["attributes-type"] == nil)
      #expect(bodies[3]["dismissal-date"] as? Int64 == PushBed.start / 1_000 + 5)
      #expect(bodies[1]["stale-date"] as? Int64 == PushBed.start / 1_000 + 60)
      let state = try #require(bodies[1]["content-state"] as? [String: Any])
      #expect(state["status"] as? String == "processing")
      #expect(state["operation"] as? String == "Editing")
      #expect(state["startedAt"] as? Int64 == PushBed.start)
      // S4-8: an app can read what the server writes with the public types.
      let read = try JSONDecoder().decode(
        CospoolTaskAttributes.ContentState.self, from: JSONSerialization.data(withJSONObject: state)
      )
      #expect(read.status == .processing && read.progress?.total == 5)
    }
  }

  @Test func tokensOfActivitiesAndDevicesAreKeptApart() async throws {
    try await PushBed.with { bed in
      let activity = try PushBed.activity(.update)
      let alert = Push.alert(try PushBed.notice())
      let outcomes = [
        await bed.sender.send(activity, to: bed.device()),
        await bed.sender.send(alert, to: bed.device(purpose: .liveActivity)),
        await bed.sender.send(alert, to: bed.device(purpose: .liveActivityStart)),
        await bed.sender.send(activity, to: bed.device(purpose: .liveActivityStart)),
      ]
      for outcome in outcomes {
        guard case .rejected = outcome else {
          Issue.record("\(outcome)")
          return
        }
      }
      #expect(bed.apns.requests.isEmpty)
    }
  }

  @Test func payloadsAreCutToTheLimitBetweenCharacters() async throws {
    try await PushBed.with { bed in
      let flags = String(repeating: "🇪🇺\"\n", count: 2_000)
      for (details, body, title) in [
        (flags, "Body", "Title"), (flags, flags, "Title"), (nil, flags, flags),
      ] {
        let notice = try PushBed.notice(title: title, body: body, details: details)
        let outcome = await bed.sender.send(.alert(notice), to: bed.device())
        guard case .delivered = outcome else {
          Issue.record("\(outcome) \(bed.apns.faults)")
          return
        }
      }
      let long = try PushBed.activity(.update, operation: flags)
      _ = await bed.sender.send(long, to: bed.device(purpose: .liveActivity))
      #expect(bed.apns.faults == [])
      #expect(bed.apns.requests.count == 4)
      for request in bed.apns.requests {
        #expect((2_000...4_096).contains(request.body.count))
        #expect(!String(decoding: request.body, as: UTF8.self).contains("\u{FFFD}"))
      }
      let alert = (bed.apns.requests[0].json["aps"] as? [String: Any])?["alert"]
      #expect(alert as? [String: String] == ["title": "Title", "body": "Body"])
      // Half of a flag would be one of its two letters.
      let details = try #require(bed.apns.requests[0].json["details"] as? String)
      #expect(details.dropLast().replacing("🇪🇺", with: "").allSatisfy { $0 == "\"" || $0 == "\n" })
    }
  }

  @Test func oversizedNoticesAreRejected() async throws {
    try await PushBed.with { bed in
      var notice = try PushBed.notice()
      notice.link = String(repeating: "l", count: 5_000)
      let outcome = await bed.sender.send(.alert(notice), to: bed.device())
      #expect(outcome == .rejected(reason: "it does not fit into 4096 bytes"))
      #expect(bed.apns.requests.isEmpty)
    }
  }

  @Test func expiredNoticesAreNotSent() async throws {
    try await PushBed.with { bed in
      let notice = try PushBed.notice(expiresAt: bed.now)
      #expect(
        await bed.sender.send(.alert(notice), to: bed.device())
          == .rejected(reason: "it has expired"))
      #expect(bed.apns.requests.isEmpty)
    }
  }

  @Test func aTopicThatIsNotSetUpIsNotSentTo() async throws {
    try await PushBed.with { bed in
      let outcome = await bed.sender.send(
        .alert(try PushBed.notice()), to: bed.device(topic: "org.other"))
      guard case .targetError(let reason) = outcome else {
        Issue.record("\(outcome)")
        return
      }
      #expect(reason.contains("org.other") && reason.contains(PushBed.topic))
      #expect(bed.apns.requests.isEmpty)
      // Only this target is at fault, so pushes to others continue.
      let other = await bed.sender.send(.alert(try PushBed.notice()), to: bed.device())
      guard case .delivered = other else {
        Issue.record("\(other)")
        return
      }
    }
  }

  @Test func manyPushesAtOnceShareOneConnectionAndOneToken() async throws {
    try await PushBed.with { bed in
      let sender = bed.sender
      let device = bed.device()
      let outcomes = try await withThrowingTaskGroup(of: PushOutcome.self) { group in
        for index in 0..<100 {
          let push = Push.alert(try PushBed.notice("n-\(index)"))
          group.addTask { await sender.send(push, to: device) }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(outcomes.count == 100)
      for outcome in outcomes {
        #expect(APNsRefusalTests.kind(outcome) == .delivered, "\(outcome)")
      }
      #expect(bed.apns.connectionCount == 1)
      #expect(bed.apns.tokens.count == 1)
      #expect(Set(bed.apns.requests.map(\.connection)) == [1])
    }
  }

  @Test func attemptsAtOnePushHaveOneName() async throws {
    try await PushBed.with { bed in
      let push = Push.alert(try PushBed.notice())
      bed.apns.answer(next: .apns(503, "ServiceUnavailable"))
      _ = await bed.sender.send(push, to: bed.device())
      _ = await bed.sender.send(push, to: bed.device())
      _ = await bed.sender.send(.alert(try PushBed.notice("other")), to: bed.device())
      let ids = bed.apns.requests.map { $0.header("apns-id") }
      #expect(ids[0] == ids[1])
      #expect(ids[1] != ids[2])
    }
  }

  @Test func tokensAreRenewedEveryFiftyMinutes() async throws {
    try await PushBed.with { bed in
      let push = Push.alert(try PushBed.notice())
      for minutes: Int64 in [0, 49, 1, 49, 1] {
        bed.advance(minutes: minutes)
        guard case .delivered = await bed.sender.send(push, to: bed.device()) else {
          Issue.record("\(bed.apns.faults)")
          return
        }
      }
      #expect(bed.apns.tokens.count == 3)
    }
  }
}
