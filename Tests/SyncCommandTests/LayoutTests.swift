import Foundation
import Testing

@testable import SyncCommand

/// Tables and fields in terminals of every width, with text of every script.
@Suite struct LayoutTests {
  private func style(_ width: Int?) -> TextStyle {
    var style = TextStyle.plain
    style.width = width
    return style
  }

  private var table: TextTable {
    var table = TextTable([
      .init(title: "#", isNumber: true), .init(title: "ID"), .init(title: "PRIORITY", goes: 1),
      .init(title: "AGE", isNumber: true, goes: 2), .init(title: "DEVICE", goes: 3),
      .init(title: "CONTENT"),
    ])
    table.rows = [
      ["1", "c932abc7", "urgent", "now", "laptop", "Stop: use the new session API"].map {
        .init($0)
      },
      ["2", "cf8492e9", "normal", "12m", "laptop", "修正してください、急いで"].map { .init($0) },
    ]
    return table
  }

  @Test func theLeastImportantColumnsGoFirst() {
    #expect(
      table.text(style: style(nil)) == """
        #  ID        PRIORITY  AGE  DEVICE  CONTENT
        1  c932abc7  urgent    now  laptop  Stop: use the new session API
        2  cf8492e9  normal    12m  laptop  修正してください、急いで
        """)
    #expect(
      table.text(style: style(48)) == """
        #  ID        PRIORITY  AGE  CONTENT
        1  c932abc7  urgent    now  Stop: use the new s…
        2  cf8492e9  normal    12m  修正してください、…
        """)
    #expect(
      table.text(style: style(32)) == """
        #  ID        CONTENT
        1  c932abc7  Stop: use the new …
        2  cf8492e9  修正してください、…
        """)
  }

  @Test(arguments: 1...70) func aTableIsNeverWiderThanItCanBe(width: Int) {
    let narrowest = 1 + 2 + TextTable.columnWidthMin + 2 + 1
    for line in table.text(style: style(width)).split(separator: "\n") {
      #expect(CharacterWidth.columns(line) <= max(width, narrowest), "\(width): \(line)")
    }
  }

  /// An agent that reads a list does not get megabytes; JSON has everything.
  @Test func veryLongTextsAreCutWithoutATerminal() {
    var table = TextTable(["ID", "CONTENT"])
    table.rows = [
      [.init("1"), .init(String(repeating: "x", count: 1 << 20))], [.init("2"), .init("y")],
    ]
    let lines = table.text(style: .plain).split(separator: "\n")
    #expect(lines[1].hasSuffix("x…") && lines[1].count < 500)
    #expect(lines[2] == "2   y")
  }

  @Test func columnsWithoutAnythingInThemAreLeftOut() {
    var table = TextTable([.init(title: "A"), .init(title: "B", goes: 1), .init(title: "C")])
    table.rows = [[.init("1"), .init(""), .init("")]]
    #expect(table.text(style: style(nil)) == "A  C\n1")
  }

  @Test func textFromRightToLeftKeepsToItsCell() {
    var table = TextTable([.init(title: "A"), .init(title: "B")])
    table.rows = [[.init("שלום"), .init("x")]]
    #expect(table.text(style: style(80)).hasSuffix("\u{2068}שלום\u{2069}  x"))
    // Output to a file has no columns that could be reversed.
    #expect(table.text(style: style(nil)).hasSuffix("שלום  x"))
    let field = FieldText.text(of: [("name", "مرحبا")], style: style(80))
    #expect(field == "name  \u{2068}مرحبا\u{2069}")
  }

  @Test func longValuesGoOnBelowTheirBeginning() {
    #expect(
      FieldText.text(
        of: [("daemon", "version 0.1.0, process 7"), ("x", "averyveryverylongword")],
        style: style(24)) == """
          daemon  version 0.1.0,
                  process 7
          x       averyveryverylon
                  gword
          """)
    #expect(TextStyle.wrapped("", toColumns: 5) == [""])
    #expect(TextStyle.wrapped("日本語です", toColumns: 5) == ["日本", "語で", "す"])
  }

  @Test(arguments: [
    ("🇩🇪", 2), ("1️⃣", 2), ("1", 1), ("❤️", 2), ("❤", 1), ("⌚", 2), ("⌚\u{FE0E}", 1), ("👍🏽", 2),
    ("e\u{301}", 1), ("\u{301}", 0), ("\u{200B}", 0), ("\u{AD}", 1), ("각", 2),
    ("\u{1100}\u{1161}\u{11A8}", 2), ("ｶ", 1), ("ア", 2), ("𠀀", 2), ("…", 1), ("\u{20DD}", 0),
  ])
  func charactersAreAsWideAsTerminalsShowThem(character: String, columns: Int) {
    #expect(CharacterWidth.columns(character) == columns)
  }
}
