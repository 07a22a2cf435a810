import ArgumentParser
import QueueOracle

/// Runs every pair of actions.
struct MatrixCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "matrix",
    abstract: "Run every pair of concurrent actions, in every order of delivery.",
    discussion: """
      Examples:
        cospool-harness matrix
        cospool-harness matrix --action "move" --list

      Each cell is one ordered pair, the second with the later clock, with several relations \
      of replica ids. ● agrees with the contract's conflict table, · agrees with the oracle in \
      every order, ✗ does not.
      """)

  @Option(help: "Only pairs with an action whose name contains this.")
  var action: String?

  @Flag(help: "Print a line for each pair instead of the table.")
  var list = false

  func run() async throws {
    let pairs = PairMatrix.pairs.filter { pair in
      action.map { pair.first.name.contains($0) || pair.second.name.contains($0) } ?? true
    }
    guard !pairs.isEmpty else {
      throw ValidationError("No action has that name. Actions: \(names.joined(separator: ", ")).")
    }
    let verdicts = await withTaskGroup(of: (Int, PairResult).self) { group in
      for (number, pair) in pairs.enumerated() { group.addTask { (number, PairResult(pair)) } }
      var verdicts: [(Int, PairResult)] = []
      for await verdict in group { verdicts.append(verdict) }
      return verdicts.sorted { $0.0 < $1.0 }.map(\.1)
    }
    let text = MatrixText(verdicts: verdicts)
    Console.write(list ? text.list : text.table)
    Console.write(text.summary)
    if !text.faults.isEmpty {
      Console.write(text.faults)
      throw ExitCode.violation
    }
  }

  private var names: [String] { PairMatrix.actions.map(\.name) }
}

/// The matrix as text.
struct MatrixText {
  var verdicts: [PairResult]

  private var rows: [String] { Self.unique(verdicts.map(\.first)) }
  private var columns: [String] { Self.unique(verdicts.map(\.second)) }

  private static func unique(_ names: [String]) -> [String] {
    var seen: Set<String> = []
    return names.filter { seen.insert($0).inserted }
  }

  /// Rows are the first action, columns the second, by number.
  var table: String {
    let width = rows.map(\.count).max() ?? 0
    let cells = Dictionary(
      verdicts.map { (Pair(first: $0.first, second: $0.second), $0.mark) }
    ) { first, _ in first }
    let numbers = Dictionary(uniqueKeysWithValues: columns.enumerated().map { ($1, $0 + 1) })
    let head =
      String(repeating: " ", count: width + 4)
      + columns.indices.map { Self.padded("\($0 + 1)", 3) }.joined()
    let lines = rows.map { row in
      Self.padded(numbers[row].map(String.init) ?? "", 3) + " "
        + row + String(repeating: " ", count: width - row.count)
        + columns.map { column in
          Self.padded(cells[Pair(first: row, second: column)] ?? " ", 3)
        }.joined()
    }
    return ([head] + lines).joined(separator: "\n")
  }

  var list: String {
    verdicts.map { verdict in
      "\(verdict.mark) \(verdict.first) ∥ \(verdict.second): \(verdict.orders) orders, "
        + "\(verdict.facts) facts"
    }.joined(separator: "\n")
  }

  var summary: String {
    let orders = verdicts.reduce(0) { $0 + $1.orders }
    let facts = verdicts.reduce(0) { $0 + $1.facts }
    let wrong = verdicts.count { !$0.faults.isEmpty }
    return "\(verdicts.count) pairs, \(orders) orders of delivery, \(facts) facts of the contract: "
      + (wrong == 0 ? "all agree" : "\(wrong) pairs do not agree")
  }

  /// The faults, a few lines for each pair.
  var faults: String {
    verdicts.filter { !$0.faults.isEmpty }.map { verdict in
      "\(verdict.first) ∥ \(verdict.second)\n"
        + verdict.faults.prefix(4).map { "  \($0)" }.joined(separator: "\n")
    }.joined(separator: "\n")
  }

  private struct Pair: Hashable {
    var first: String
    var second: String
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
}

extension PairResult {
  var mark: String { faults.isEmpty ? (facts > 0 ? "●" : "·") : "✗" }
}
