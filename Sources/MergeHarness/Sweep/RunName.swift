import ArgumentParser
import Basics
import SyncSimulation

/// Names a run permanently.
struct RunName: Hashable, Sendable {
  var seed: UInt64
  var profile: Profile
  /// Planted bugs.
  var planted: Set<PlantedBug> = []
  /// Whether hosts run messages.
  var runsAgents = false
  /// The number of messages queued for them; 0 for a mix of everything instead.
  var items = 0
  /// Whether agents ask, and users answer.
  var raisesRequests = false
  /// Whether users who withdraw or edit a message ask if they were in time.
  var asksOutcomes = false

  /// The command that runs it again.
  var replayCommand: String {
    let plants = planted.sorted().map { " --plant \($0.rawValue)" }.joined()
    let agents = items > 0 ? " --items \(items)" : runsAgents ? " --agents" : ""
    let requests = (raisesRequests ? " --requests" : "") + (asksOutcomes ? " --outcomes" : "")
    return "cospool-harness replay --seed " + Shell.quoted("\(seed)") + " --profile "
      + Shell.quoted(profile.rawValue)
      + agents + requests + plants
  }

  /// Runs it.
  func run(keepsTrace: Bool = false) -> SimulationReport {
    Simulation.run(
      seed: seed, profile: profile, planted: planted, runsAgents: runsAgents,
      raisesRequests: raisesRequests, asksOutcomes: asksOutcomes, items: items,
      keepsTrace: keepsTrace)
  }
}

/// One profile, or each in turn.
enum ProfileChoice: Hashable, Sendable, ExpressibleByArgument {
  case one(Profile)
  case all

  init?(argument: String) {
    if argument == "all" {
      self = .all
    } else if let profile = Profile(rawValue: argument) {
      self = .one(profile)
    } else {
      return nil
    }
  }

  static var allValueStrings: [String] { Profile.allCases.map(\.rawValue) + ["all"] }

  var defaultValueDescription: String {
    switch self {
    case .one(let profile): profile.rawValue
    case .all: "all"
    }
  }

  /// The profile of a seed; with `all`, seeds take the profiles in turn.
  func profile(of seed: UInt64) -> Profile {
    switch self {
    case .one(let profile): profile
    case .all: Profile.turns[Int(seed % UInt64(Profile.turns.count))]
    }
  }
}

extension Profile: ExpressibleByArgument {}
extension PlantedBug: ExpressibleByArgument {}
