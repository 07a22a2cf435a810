import QueueOracle

/// The part between devices and several nodes: a proxy, and the nodes that forward connections.
///
/// A node that serves a workspace gets its connections from the other nodes that can reach it. If
/// it does not answer within three seconds, the node that got the connection takes the workspace.
final class NodeRouter: SimulationPart {
  enum Route {
    case node(SimulatedServer)
    /// No process answers.
    case refused
    /// Nothing answers yet; the connection is tried again after this time.
    case silent(milliseconds: Int64)
  }

  private static let patienceMilliseconds: Int64 = 3_000

  /// Until when two nodes cannot reach each other.
  private var cuts: [Set<Int>: Int64] = [:]
  private var generator: SeededGenerator
  unowned let simulation: Simulation

  init(in simulation: Simulation) {
    self.simulation = simulation
    generator = RandomStream.proxy.generator(seed: simulation.options.seed, 0)
  }

  private(set) lazy var nodes =
    [simulation.server]
    + (1..<options.server.nodes.count).map {
      SimulatedServer(in: simulation, index: $0, sharing: simulation.server.disk)
    }
  /// The number of starts and ends of their processes.
  private var lives = 0

  func nextLife() -> Int {
    lives += 1
    return lives
  }

  /// After all faults have ended, the proxy sends everything to one node.
  private var isSteady: Bool {
    options.server.nodes.proxyHashes || simulation.quiescence.isSettling
  }

  func cut(_ node: Int, _ other: Int, until end: Int64) {
    cuts[[node, other], default: 0] = max(cuts[[node, other]] ?? 0, end)
  }

  func repair() { cuts = [:] }

  func route(_ pipe: Pipe) -> Route {
    guard nodes.count > 1 else {
      return simulation.server.process == nil ? .refused : .node(simulation.server)
    }
    let living = nodes.filter {
      $0.process != nil && !pipe.serverEnd.silentNodes.contains($0.index)
    }
    guard let asked = isSteady ? living.first : generator.pick(living) else {
      guard !pipe.serverEnd.silentNodes.isEmpty else { return .refused }
      pipe.serverEnd.silentNodes = []
      return .silent(milliseconds: NodeRouter.patienceMilliseconds)
    }
    let node = passedOn(from: asked, pipe)
    if node.trouble.isPaused(at: clock.now) {
      pipe.serverEnd.silentNodes.insert(node.index)
      return .silent(milliseconds: NodeRouter.patienceMilliseconds)
    }
    return .node(node)
  }

  /// The node that serves the workspace, if the receiving node knows and can reach it.
  private func passedOn(from asked: SimulatedServer, _ pipe: Pipe) -> SimulatedServer {
    guard options.server.nodes.passesOn, !asked.trouble.isPaused(at: clock.now),
      !asked.trouble.isCut(at: clock.now),
      let owner = nodes.first(where: { $0.index == asked.disk.owner }), owner.process != nil,
      !pipe.serverEnd.silentNodes.contains(owner.index),
      cuts[[asked.index, owner.index]] ?? 0 <= clock.now
    else { return asked }
    return owner
  }
}
