/// A small deterministic source of random numbers (SplitMix64), the same on every machine.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
  /// The seed of the run, printed when it fails.
  package let seed: UInt64
  private var state: UInt64

  package init(seed: UInt64) {
    self.seed = seed
    state = seed
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number in `0 ..< bound`; 0 if `bound` is 0.
  package mutating func below(_ bound: Int) -> Int {
    bound <= 0 ? 0 : Int.random(in: 0..<bound, using: &self)
  }

  /// True in `percent` of a hundred calls.
  package mutating func chance(_ percent: Int) -> Bool {
    below(100) < percent
  }

  /// One of the elements; nil if there are none.
  package mutating func pick<Elements: RandomAccessCollection>(
    _ elements: Elements
  ) -> Elements.Element? {
    elements.randomElement(using: &self)
  }

  /// One of the values, with a probability in proportion to its weight.
  ///
  /// - Precondition: at least one weight is above 0.
  package mutating func pick<Value>(weighted choices: [(weight: Int, value: Value)]) -> Value {
    let total = choices.reduce(0) { $0 + $1.weight }
    precondition(total > 0, "a weighted choice needs a weight")
    var ticket = below(total)
    for choice in choices {
      if ticket < choice.weight { return choice.value }
      ticket -= choice.weight
    }
    preconditionFailure("the ticket is below the total")
  }
}
