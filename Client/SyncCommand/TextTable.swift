/// A table for users that fits the terminal.
///
/// Columns are as wide as they need. If the terminal is too narrow for that, optional columns are
/// left out, the least important first, until the last one has room. Then the widest ones shrink,
/// names after everything else. Text that is cut ends in an ellipsis. Without a terminal only very
/// long text is cut: a program reads JSON, and a text of a megabyte is of no use in a list.
struct TextTable {
  struct Cell {
    var text: String
    var colour: TextStyle.Colour?

    init(_ text: String, _ colour: TextStyle.Colour? = nil) {
      // A cell is one line, whatever its content.
      self.text = TextStyle.line(text)
      self.colour = colour
    }
  }

  struct Column {
    var title: String
    /// Aligned at the right.
    var isNumber = false
    /// Omitted if there is no room, the highest number first; nil means never. An optional column
    /// is also omitted if it is empty in all rows.
    var goes: Int?
    /// Its text is typed or copied into other commands, so it is cut only if there is no room at
    /// all.
    var isName = false
  }

  var columns: [Column]
  var rows: [[Cell]] = []

  /// The maximum width of a column, except for the last one and those of names.
  static let columnWidthMax = 32
  /// The minimum width of a column.
  static let columnWidthMin = 6
  /// The maximum width of a cell without a terminal.
  static let cellWidthMax = 400
  /// The width that the last column gets before other columns may stay.
  static let lastWidthMin = 16
  private static let gap = 2

  init(_ columns: [Column]) {
    self.columns = columns
  }

  /// A table that keeps all columns.
  init(_ titles: [String], numbers: Set<Int> = [], names: Set<Int> = []) {
    columns = titles.enumerated().map {
      Column(title: $1, isNumber: numbers.contains($0), isName: names.contains($0))
    }
  }

  func text(style: TextStyle) -> String {
    let lines = [columns.map { Cell($0.title, .dim) }] + rows
    let natural = columns.indices.map { column in
      lines.map { CharacterWidth.columns($0[column].text) }.max() ?? 0
    }
    let shown = shownColumns(natural: natural, width: style.width)
    guard let last = shown.last else { return "" }
    let widths = self.widths(of: shown, natural: natural, width: style.width)
    return lines.map { line in
      var text = ""
      for (column, width) in zip(shown, widths) {
        let cell = line[column]
        let content = TextStyle.cut(cell.text, toColumns: width ?? TextTable.cellWidthMax)
        let coloured = style.coloured(style.isolated(content), cell.colour)
        guard column != last || columns[column].isNumber, let width else {
          text += coloured
          continue
        }
        let padding = String(repeating: " ", count: width - CharacterWidth.columns(content))
        text += columns[column].isNumber ? padding + coloured : coloured + padding
        if column != last { text += String(repeating: " ", count: TextTable.gap) }
      }
      while text.hasSuffix(" ") { text.removeLast() }
      return text
    }.joined(separator: "\n")
  }

  /// The columns that are not empty and have room.
  private func shownColumns(natural: [Int], width: Int?) -> [Int] {
    var shown = columns.indices.filter { column in
      columns[column].goes == nil || rows.isEmpty || rows.contains { !$0[column].text.isEmpty }
    }
    guard let width else { return shown }
    func needed() -> Int {
      guard let last = shown.last else { return 0 }
      return shown.dropLast().reduce(0) { $0 + most($1, natural: natural) }
        + TextTable.gap * (shown.count - 1) + min(natural[last], TextTable.lastWidthMin)
    }
    while needed() > width,
      let leaving = shown.filter({ columns[$0].goes != nil })
        .max(by: { (columns[$0].goes ?? 0) < (columns[$1].goes ?? 0) })
    {
      shown.removeAll { $0 == leaving }
    }
    return shown
  }

  /// The width of a column if there is room.
  private func most(_ column: Int, natural: [Int]) -> Int {
    columns[column].isName ? natural[column] : min(natural[column], TextTable.columnWidthMax)
  }

  /// The width of each shown column; nil for a last one without a limit.
  private func widths(of shown: [Int], natural: [Int], width: Int?) -> [Int?] {
    guard let last = shown.last else { return [] }
    guard let width else {
      let most = natural.map { min($0, TextTable.cellWidthMax) }
      return shown.dropLast().map { most[$0] } + [columns[last].isNumber ? most[last] : nil]
    }
    var widths = shown.dropLast().map { most($0, natural: natural) }
    let gaps = TextTable.gap * widths.count
    let wanted = min(natural[last], TextTable.lastWidthMin)
    for names in [false, true] {
      let shrinking = widths.indices.filter { columns[shown[$0]].isName == names }
      while widths.reduce(gaps + wanted, +) > width,
        let widest = shrinking.max(by: { widths[$0] < widths[$1] }),
        widths[widest] > TextTable.columnWidthMin
      {
        widths[widest] -= 1
      }
    }
    return widths + [max(1, min(natural[last], width - widths.reduce(gaps, +)))]
  }
}
