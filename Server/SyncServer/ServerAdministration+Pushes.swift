import Basics
import Foundation
import PushDelivery
import PushNotices
import QueueModel
import ServerCore
import ServerStore

/// The commands `push configure`, `push targets` and `push test`.
extension ServerAdministration {
  /// A push target in printed form; without secrets.
  package struct PushTargetLine: Codable, Hashable, Sendable {
    package var id: String
    package var workspaceName: String
    /// The device that set it.
    package var deviceName: String
    /// Whether it belongs to the user, and not to a device.
    package var person: Bool
    package var kind: String
    package var address: String
    package var valid: Bool
    /// Why it is not valid, or the latest failure.
    package var reason: String
    /// Waiting pushes.
    package var waiting: Int

    /// The text for users.
    package var text: String {
      let state = valid ? (reason.isEmpty ? "ok" : "held up: \(reason)") : "not valid: \(reason)"
      let device = ShownName.text(deviceName)
      let whose = person ? "the user, set by \(device)" : device
      let owner = "\(ShownName.text(workspaceName))/\(whose)"
      return "\(id)  \(owner)  \(address)  \(state)"
        + (waiting > 0 ? "; \(waiting) waiting" : "")
    }
  }

  package struct PushTargetList: Codable, Hashable, Sendable {
    package var targets: [PushTargetLine]
  }

  /// The state of pushes in printed form.
  package struct PushState: Codable, Hashable, Sendable {
    /// The key, team and topics of APNs; nil if none is set up.
    package var apns: String?
    /// The server address of buttons; nil if notices have none.
    package var answers: String?
    /// The file of a root certificate in addition to the system's.
    package var trustedRoot: String?
    package var waiting: Int
    package var deadLetters: Int
    package var lastDeadLetter: String?
    /// The faults that block pushes of a kind; `set-up`: the fault in `push.json` or in a file that
    /// it names.
    package var problems: [String: String]

    /// The text for users.
    package var text: String {
      var lines = [
        "pushes: \(waiting) waiting, \(deadLetters) given up"
          + (lastDeadLetter.map { " (last: \($0))" } ?? "")
      ]
      if let apns { lines.append("apns: \(apns)") }
      if let answers { lines.append("answers by button: \(answers)") }
      if let trustedRoot { lines.append("root certificate: \(trustedRoot)") }
      lines += problems.sorted { $0.key < $1.key }.map { "held up: \($0.key): \($0.value)" }
      return lines.joined(separator: "\n")
    }
  }

  /// Stores the settings for Apple's devices, after reading the key and the root certificate.
  ///
  /// - Throws: the fault, without storing anything.
  package func configure(
    apns: PushSettings.APNs, trustedRootFile: String?
  ) throws(SyncServerError) {
    try changePushSettings { settings in
      settings.apns = apns
      if let trustedRootFile { settings.trustedRootFile = trustedRootFile }
    }
  }

  /// Stores the additional root certificate for all kinds, after reading it.
  ///
  /// - Parameter trustedRootFile: PEM; nil to remove it.
  /// - Throws: the fault, without storing anything.
  package func configure(trustedRootFile: String?) throws(SyncServerError) {
    try changePushSettings { $0.trustedRootFile = trustedRootFile }
  }

  /// Stores the networks that ntfy and webhooks may use in addition to public addresses.
  ///
  /// - Parameter networks: as `ADDRESS/BITS`; empty for none.
  /// - Throws: the entry that is not a network, without storing anything.
  package func configure(allowedNetworks networks: [String]) throws(SyncServerError) {
    try changePushSettings { $0.allowedNetworks = networks.isEmpty ? nil : networks }
  }

  /// Stores the server address for notices' buttons; the first call creates the signing key.
  ///
  /// - Parameters:
  ///   - server: the address at which phones reach the server; nil to remove the buttons.
  ///   - renewsKey: earlier buttons stop working.
  /// - Throws: the fault, without storing anything.
  package func configureAnswers(
    server: String?, renewsKey: Bool = false
  ) throws(SyncServerError) {
    try changePushSettings { settings in
      guard let server else { return settings.answers = nil }
      let fresh = Hex.text((0..<32).map { _ in UInt8.random(in: .min ... .max) })
      let known = renewsKey ? nil : settings.answers?.key
      settings.answers = PushSettings.Answers(server: server, key: known ?? Secret(fresh))
    }
  }

  /// Writes new settings, which a running server uses within a second.
  private func changePushSettings(
    _ change: (inout PushSettings) -> Void
  ) throws(SyncServerError) {
    try requireRestored()
    do {
      try ServerDatabase.prepare(directory: directory)
    } catch {
      throw SyncServerError(error)
    }
    var settings = try PushSettings.read(directory: directory)
    change(&settings)
    try ServerAdministration.check(settings)
    try settings.write(directory: directory)
  }

  /// Reads the files that the settings name.
  private static func check(_ settings: PushSettings) throws(SyncServerError) {
    let configuration = try settings.configuration()
    do {
      try configuration.checkTrustedRoot(at: ProcessClock.wallMilliseconds)
    } catch {
      throw SyncServerError(.failed, "\(error)")
    }
  }

  package func pushTargets() throws(SyncServerError) -> PushTargetList {
    try requireData()
    let listed = try withDatabase { database throws(StorageFault) in
      try database.pushTargets(at: ProcessClock.wallMilliseconds)
    }
    return PushTargetList(
      targets: listed.map { listing in
        PushTargetLine(
          id: listing.target.id.description, workspaceName: listing.workspaceName,
          deviceName: listing.deviceName, person: listing.target.device == .person,
          kind: listing.target.kind,
          address: listing.target.shownAddress, valid: listing.target.isValid,
          reason: listing.target.reason, waiting: listing.waiting)
      })
  }

  package func pushState() throws(SyncServerError) -> PushState {
    try requireData()
    let summary = try withDatabase { database throws(StorageFault) in
      try database.pushSummary(at: ProcessClock.wallMilliseconds)
    }
    var state = PushState(
      waiting: summary.waiting, deadLetters: summary.deadLetters.count,
      lastDeadLetter: summary.deadLetters.first?.reason, problems: summary.problems)
    do {
      let settings = try PushSettings.read(directory: directory)
      state.apns = settings.apns.map {
        "key \($0.keyID) of team \($0.teamID) for \($0.topics.joined(separator: ", "))"
      }
      state.trustedRoot = settings.trustedRootFile
      state.answers = try settings.answering()?.url
      try ServerAdministration.check(settings)
    } catch {
      // The waiting pushes are most interesting if something is wrong.
      state.problems["set-up"] = error.message
    }
    return state
  }

  /// Sends a notice to one target now, valid or not, and returns the provider's answer.
  ///
  /// - Parameter key: the target's id or a unique prefix of it.
  /// - Throws: `.failed` with the provider's reason if it was not delivered.
  package func testPush(target key: String) async throws(SyncServerError) -> String {
    try requireData()
    let listed = try withDatabase { database throws(StorageFault) in
      try database.pushTargets(at: ProcessClock.wallMilliseconds)
    }
    let matches = NameMatch(key, among: listed.map(\.target), id: \.id).all
    guard let record = matches.first, matches.count == 1 else {
      throw SyncServerError(
        .failed,
        matches.count > 1
          ? "\"\(key)\" matches several push targets. Give more of the id."
          : "There is no push target \"\(key)\". Give at least 4 characters of its id; "
            + "`push targets` lists them.")
    }
    let settings = try PushSettings.read(directory: directory)
    let sender: PushSender
    var target: PushTarget
    do {
      sender = try PushSender(settings.configuration()) { ProcessClock.wallMilliseconds }
    } catch let error as SyncServerError {
      throw error
    } catch {
      throw SyncServerError(.failed, "\(error)")
    }
    let outcome: PushOutcome
    do {
      target = try PushComposer.target(record)
      target.validity = .valid
      outcome = await sender.send(PushComposer.test(for: target), to: target, ignoringStop: true)
    } catch {
      await sender.shutDown()
      throw SyncServerError(.failed, error.description)
    }
    await sender.shutDown()
    let said = try ServerAdministration.report(outcome, of: target)
    // A running server may have stopped pushing because of an earlier report of Apple: a new file
    // makes it try again.
    if target.kind == .apns, settings.apns != nil { try changePushSettings { _ in } }
    return said
  }

  private static func report(
    _ outcome: PushOutcome, of target: PushTarget
  ) throws(SyncServerError) -> String {
    switch outcome {
    case .delivered(let id):
      "\(target.address): delivered" + (id.map { " as \($0)" } ?? "")
    case .retry(_, let reason):
      throw SyncServerError(.tryLater, "\(target.address): not now: \(reason)")
    case .invalidTarget(let reason, _):
      throw SyncServerError(
        .failed,
        "\(target.address): not valid: \(reason). Add it again on the device: cospool push add")
    case .configurationError(let reason), .targetError(let reason):
      throw SyncServerError(.failed, "\(target.address): wrongly set up: \(reason)")
    case .rejected(let reason):
      throw SyncServerError(.failed, "\(target.address): refused: \(reason)")
    }
  }
}
