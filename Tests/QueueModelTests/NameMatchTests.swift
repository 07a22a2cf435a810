import QueueModel
import QueueOracle
import Testing

/// The one rule by which a word names one of several elements.
@Suite struct NameMatchTests {
  private struct Thing: Hashable {
    var id: String
    var name: String?
  }

  private static func match(
    _ word: String, _ things: [Thing], names: NameMatch<Thing>.Names = .given
  ) -> NameMatch<Thing> {
    NameMatch(
      word, among: things, textID: \.id, name: \.name, beginnings: .ofIDsAndNames, names: names)
  }

  // I-8, I-9
  @Test(arguments: [1, 2, 3, 4]) func aNameMeansThatThingOrNothing(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    func word() -> String {
      let letters = Array("abcdefABF01")
      let count = Int.random(in: 1...7, using: &generator)
      return String((0..<count).map { _ in letters.randomElement(using: &generator) ?? "a" })
    }
    for _ in 0..<2_000 {
      let things = (0..<Int.random(in: 0...6, using: &generator)).map { _ in
        Thing(id: word().lowercased(), name: Bool.random(using: &generator) ? word() : nil)
      }
      let asked = word()
      let what = "seed \(seed): \(asked) among \(things)"
      let found = Self.match(asked, things).all
      let lower = asked.lowercased()
      let ids = things.filter { $0.id == lower }
      let exact = things.filter { $0.name == asked }
      let named = things.filter { $0.name?.lowercased() == lower }
      if !ids.isEmpty {
        #expect(found == ids, "\(what)")
      } else if !exact.isEmpty {
        #expect(found == exact, "\(what)")
      } else if !named.isEmpty {
        #expect(found == named, "\(what)")
      } else {
        #expect(found.isEmpty || asked.count >= 4, "\(what)")
        #expect(
          found.allSatisfy {
            $0.id.hasPrefix(lower) || $0.name?.lowercased().hasPrefix(lower) == true
          }, "\(what)")
      }
      // A self-given name never counts before the beginning of an id.
      let own = Self.match(asked, things, names: .own).all
      let begun = things.filter { asked.count >= 4 && $0.id.hasPrefix(lower) }
      #expect(ids.isEmpty ? Set(begun).isSubset(of: own) : own == ids, "\(what)")
    }
  }

  // I-10
  @Test(arguments: [1, 2]) func anIdentifierIsNamedByFourDigitsOrMore(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let ids = (0..<5).map { _ in
        MessageID(high: generator.next() & 0x0300_FFFF_FFFF_FFFF, low: generator.next())
      }
      let text = ids[0].description
      for count in 1...36 {
        let beginning = String(text.prefix(count))
        let digits = beginning.count { $0 != "-" }
        let fitting = ids.filter { $0.description.hasPrefix(beginning) }
        let found = NameMatch(beginning, among: ids, id: { $0 }).all
        #expect(found == (digits < 4 ? [] : fitting), "seed \(seed): \(beginning) of \(ids)")
        let bare = NameMatch(beginning.filter { $0 != "-" }.uppercased(), among: ids, id: { $0 })
        #expect(bare.all == found, "seed \(seed): \(beginning) without hyphens")
      }
    }
  }

  @Test func anEmptyWordNamesNothing() {
    let things = [Thing(id: "a", name: ""), Thing(id: "b", name: " ")]
    #expect(Self.match("", things).all.isEmpty)
    #expect(NameMatch("----", among: [MessageID(high: 0, low: 0)], id: { $0 }).all.isEmpty)
    #expect(Self.match(" A ", things).all == [things[0]])
  }
}
