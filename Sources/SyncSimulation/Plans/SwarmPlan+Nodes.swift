import QueueOracle

/// Several nodes over one store.
extension SwarmPlan {
  static func nodes(using generator: inout SeededGenerator) -> NodeSettings {
    var nodes = NodeSettings()
    nodes.count = 2 + generator.below(3)
    nodes.proxyHashes = generator.chance(50)
    nodes.passesOn = generator.chance(70)
    return nodes
  }

  mutating func nodeEvent(_ fault: Fault) -> NodeEvent {
    let soon = Int64(1 + generator.below(2_000))
    let late = Int64(1 + generator.below(90_000))
    let time = generator.chance(50) ? soon : late
    switch fault {
    case .crashNode: return .crash
    case .restartNode: return .restart
    case .pauseNode: return .pause(milliseconds: time)
    case .cutNodeStore: return .cutStore(milliseconds: time / 4)
    case .cutNodes:
      return .cutNode(generator.below(options.server.nodes.count), milliseconds: time)
    default:
      return .setClock(offsetMilliseconds: Int64.random(in: -30_000...30_000, using: &generator))
    }
  }
}
