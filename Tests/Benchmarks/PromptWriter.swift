import QueueOracle

/// Writes prompts as users send them to coding agents, from a seed.
struct PromptWriter {
  private static let openings = [
    "Please look into why", "Find out when", "Write a test that shows how", "Explain to me why",
    "Rewrite this so that", "Before you go on, make sure", "It looks as if",
  ]
  private static let subjects = [
    "the login page", "our nightly import", "the invoice exporter", "search in the sidebar",
    "the push handler", "Parser.swift", "checkout.ts", "the retry loop", "the billing webhook",
    "the thumbnail cache", "the iPad layout",
  ]
  private static let happenings = [
    "hangs after a few minutes", "drops the last line", "counts every entry twice",
    "forgets what was chosen", "shows yesterday's numbers", "needs three seconds to open",
    "ignores the time zone", "fails on an empty folder", "breaks with umlauts",
  ]
  private static let closings = [
    "", " Keep the public interface as it is.", " Ask me before you touch the schema.",
    " I saw it twice on staging today.", " Commit in small steps.",
    " A short summary is enough for now.",
  ]

  func prompt(using generator: inout SeededGenerator) -> String {
    var text = sentence(using: &generator)
    if generator.chance(30) { text += " Also: " + sentence(using: &generator) }
    return text + (generator.pick(PromptWriter.closings) ?? "")
  }

  /// One more sentence, one word less, or another number of exclamation marks.
  func correction(of text: String, using generator: inout SeededGenerator) -> String {
    switch generator.below(3) {
    case 0:
      return text + " " + sentence(using: &generator)
    case 1:
      var words = text.split(separator: " ")
      if words.count > 3 { words.remove(at: 1 + generator.below(words.count - 2)) }
      return words.joined(separator: " ")
    default:
      return text + "!"
    }
  }

  private func sentence(using generator: inout SeededGenerator) -> String {
    let parts = [PromptWriter.openings, PromptWriter.subjects, PromptWriter.happenings]
    return parts.compactMap { generator.pick($0) }.joined(separator: " ") + "."
  }
}
