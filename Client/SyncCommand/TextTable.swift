/// A table for people: columns as wide as they need, the last one cut to the terminal.
struct TextTable {
  struct Cell {
    var text: String
    var colour: TextStyle.Colour?

    init(_ text: String, _ colour: TextStyle.Colour? = nil) {
      // Whatever comes in, a cell is one line.
      self.text = TextStyle.line(text)
      self.colour = colour
    }
  }

  var header: [String]
  /// Columns whose text is aligned at the right.
  var numbers: Set<Int> = []
  /// No column but the last takes more than this.
  var columnWidthMax = 32
  var rows: [[Cell]] = []

  init(_ header: [String], numbers: Set<Int> = []) {
    self.header = header
    self.numbers = numbers
  }

  func text(style: TextStyle) -> String {
    let lines = [header.map { Cell($0, .dim) }] + rows
    let last = header.count - 1
    let widths = (0..<last).map { column in
      min(columnWidthMax, lines.map { TextStyle.columns($0[column].text) }.max() ?? 0)
    }
    let rest = style.width.map { max(8, $0 - widths.reduce(0, +) - 2 * last) }
    return lines.map { line in
      var text = ""
      for (column, cell) in line.enumerated() {
        let limit = column < last ? widths[column] : rest
        let content = limit.map { TextStyle.cut(cell.text, toColumns: $0) } ?? cell.text
        let coloured = cell.colour.map { style.coloured(content, $0) } ?? content
        guard column < last, let limit else {
          text += coloured
          continue
        }
        let padding = String(repeating: " ", count: limit - TextStyle.columns(content))
        text += (numbers.contains(column) ? padding + coloured : coloured + padding) + "  "
      }
      while text.hasSuffix(" ") { text.removeLast() }
      return text
    }.joined(separator: "\n")
  }
}
