import Testing

/// Words that the project must not contain. They are assembled here, so that this file does not
/// contain them itself.
@Suite struct WordTests {
  @Test func nothingForcesTry() throws {
    for file in try Repository.swiftFiles() {
      #expect(!file.code.contains("try" + "!"), "\(file.path) forces a try")
    }
  }

  @Test func nothingIsLeftForLater() throws {
    let marks = ["TO" + "DO", "FIX" + "ME", "XX" + "X:"]
    for (path, text) in try Repository.texts() {
      // A string may hold such a word as data; a comment may not.
      let read = path.hasSuffix(".swift") ? SwiftText.comments(text).joined(separator: "\n") : text
      for mark in marks {
        #expect(!read.contains(mark), "\(path) holds \(mark)")
      }
      for words in ["not impl" + "emented", "unimpl" + "emented"] {
        #expect(!text.contains(words), "\(path) holds \(words)")
      }
    }
  }

  @Test func roomsDoNotGiveUp() throws {
    for file in try Repository.swiftFiles() where file.path != "Package.swift" {
      #expect(!file.code.contains("fatal" + "Error("), "\(file.path): use precondition or an error")
    }
  }

  @Test func noPathOfOneMachineIsWrittenDown() throws {
    let roots = ["/wo" + "rk/", "/tmp/con" + "tract", "/ro" + "ot/", "/ho" + "me/runner"]
    for (path, text) in try Repository.texts() {
      for root in roots {
        var rest = text[...]
        while let range = rest.firstRange(of: root) {
          let before =
            range.lowerBound > text.startIndex
            ? text[text.index(before: range.lowerBound)] : " "
          // A longer path that merely contains the word is an example, not this machine.
          #expect(
            before.isLetter || before.isNumber || "._~-/".contains(before),
            "\(path) names a path of one machine")
          rest = rest[range.upperBound...]
        }
      }
    }
  }

  @Test func noPlaceholderFilesAreLeft() throws {
    for file in try Repository.swiftFiles() {
      #expect(!file.path.hasSuffix("/Placeholder.swift"), "\(file.path) is left over")
    }
  }

  /// Replaced names, with the standard word that is used now.
  private static let replacedNames = [
    "ArrivalGate", "AskBook", "AttachmentKeeper", "BatchNews", "BlobShelf", "CertificateKeeper",
    "ChannelCensus", "Defect", "Hindrance", "House", "LabelBook", "LiveSeats", "LiveStatusBook",
    "Moment", "NotificationBook", "NotificationNews", "NotificationShelf", "Objection", "Occasion",
    "OpeningTrouble", "OutgoingBoxes", "PairVerdict", "PushGear", "ReceiptBook", "SchemaBook",
    "Seat", "SequenceBox", "SettingsKeeper", "SharedNews", "Shelf", "SocketPlace", "SoughtRun",
    "TaskNews", "ThreadStanding", "Trouble", "WebGate", "book", "house", "shelf",
  ]

  @Test func theFieldsWordsAreUsed() throws {
    let replaced = Set(WordTests.replacedNames.map { Substring($0) })
    for file in try Repository.swiftFiles() where !file.path.hasPrefix("Tests/TidyTests/") {
      for word in file.code.split(whereSeparator: { !$0.isLetter && !$0.isNumber }) {
        #expect(!replaced.contains(word), "\(file.path) says \(word)")
      }
    }
  }
}
