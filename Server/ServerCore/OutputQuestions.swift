import QueueModel
import WireProtocol

/// Requests for the output of other devices, until the device that keeps the output answers;
/// SPECIFICATION.md, section "Output". They exist only in memory, and no output is stored.
struct OutputQuestions: Sendable {
  /// A request that waits for its answer.
  struct Open: Sendable {
    /// The connection that asked, and the number of its request.
    let asker: ConnectionID
    let request: UInt64
    /// The connection that must answer.
    let asked: ConnectionID
    let deadline: Int64
  }

  private var open: [UInt64: Open] = [:]
  private var last: UInt64 = 0
  /// The open requests of each connection, and for each.
  private var byAsker: [ConnectionID: Set<UInt64>] = [:]
  private var byAsked: [ConnectionID: Set<UInt64>] = [:]
  private var rates: [ConnectionID: TokenBucket] = [:]

  var count: Int { open.count }

  /// Records a request.
  ///
  /// - Returns: its number; nil if there are too many.
  mutating func add(
    _ question: Open, _ traffic: ServerConfiguration.Traffic, uptimeMilliseconds: Int64
  ) -> UInt64? {
    guard byAsker[question.asker]?.count ?? 0 < traffic.outputsMax,
      byAsked[question.asked]?.count ?? 0 < traffic.outputsWantedMax,
      mayAsk(question.asker, traffic, uptimeMilliseconds: uptimeMilliseconds)
    else { return nil }
    last += 1
    open[last] = question
    byAsker[question.asker, default: []].insert(last)
    byAsked[question.asked, default: []].insert(last)
    return last
  }

  private mutating func mayAsk(
    _ asker: ConnectionID, _ traffic: ServerConfiguration.Traffic, uptimeMilliseconds: Int64
  ) -> Bool {
    var rate =
      rates[asker] ?? TokenBucket(traffic.outputs, uptimeMilliseconds: uptimeMilliseconds)
    rate.refill(uptimeMilliseconds: uptimeMilliseconds)
    let may = !rate.isEmpty
    // A refused request costs nothing, so that the asker recovers.
    if may { rate.spend(1, uptimeMilliseconds: uptimeMilliseconds) }
    rates[asker] = rate
    return may
  }

  /// Ends a request that was sent to this connection; nil if it was not.
  mutating func take(_ id: UInt64, from asked: ConnectionID) -> Open? {
    guard open[id]?.asked == asked else { return nil }
    return remove(id)
  }

  /// Ends the requests whose time has passed.
  mutating func takeLate(_ uptimeMilliseconds: Int64) -> [Open] {
    open.filter { $0.value.deadline <= uptimeMilliseconds }.keys.sorted().compactMap { remove($0) }
  }

  /// A connection has ended: removes its requests, and those for it.
  ///
  /// - Returns: those that it should have answered.
  mutating func takeAll(of connection: ConnectionID) -> [Open] {
    rates[connection] = nil
    for id in byAsker[connection] ?? [] { _ = remove(id) }
    return (byAsked[connection] ?? []).sorted().compactMap { remove($0) }
  }

  private mutating func remove(_ id: UInt64) -> Open? {
    guard let question = open.removeValue(forKey: id) else { return nil }
    byAsker[question.asker]?.remove(id)
    if byAsker[question.asker]?.isEmpty == true { byAsker[question.asker] = nil }
    byAsked[question.asked]?.remove(id)
    if byAsked[question.asked]?.isEmpty == true { byAsked[question.asked] = nil }
    return question
  }
}

extension Connections {
  /// Forwards a request to the latest connection of the device that keeps the output.
  ///
  /// - Parameter awaySince: since when the device has been disconnected; nil if it is connected.
  mutating func ask(
    _ part: OutputPart, of device: DeviceID, for request: UInt64, by asker: ConnectionID,
    in workspace: WorkspaceID, awaySince: Int64?, _ actions: inout ActionList, at now: ServerTime
  ) {
    let asked = members(of: workspace).last { self[$0]?.session?.device == device }
    guard let asked else {
      let answer = InboxAnswer.away(since: awaySince)
      return send(.response(answer.response(id: request)), to: asker, &actions)
    }
    let uptime = now.uptimeMilliseconds
    let question = OutputQuestions.Open(
      asker: asker, request: request, asked: asked,
      deadline: uptime + Int64(part.waitMilliseconds) + traffic.outputMilliseconds)
    guard let id = outputs.add(question, traffic, uptimeMilliseconds: uptime) else {
      return answer(question, .tooMany, &actions)
    }
    send(.outputWanted(OutputQuestion(id: id, part: part)), to: asked, &actions)
  }

  /// A device answered; an answer to no request is dropped.
  mutating func outputReceived(
    _ reply: OutputReply, from asked: ConnectionID, _ actions: inout ActionList
  ) {
    guard let question = outputs.take(reply.id, from: asked) else { return }
    answer(question, .output(reply.piece), &actions)
  }

  /// A connection has ended. If its device is already back, the request is sent to it again.
  mutating func endOutputs(of connection: ConnectionID, _ actions: inout ActionList) {
    for question in outputs.takeAll(of: connection) { answer(question, .unavailable, &actions) }
  }

  mutating func answer(
    _ question: OutputQuestions.Open, _ answer: InboxAnswer, _ actions: inout ActionList
  ) {
    send(.response(answer.response(id: question.request)), to: question.asker, &actions)
  }
}
