enum QRText {
  /// A QR code on a terminal of any colours: two rows of modules a line, a light margin around.
  static func code(_ rows: [String]) -> String {
    let width = (rows.first?.count ?? 0) + 8
    let light = String(repeating: "0", count: width)
    var modules = Array(repeating: light, count: 4) + rows.map { "0000\($0)0000" }
    modules += Array(repeating: light, count: modules.count % 2 == 0 ? 4 : 5)
    return stride(from: 0, to: modules.count, by: 2).map { index in
      let blocks = zip(modules[index], modules[index + 1]).map { upper, lower -> String in
        switch (upper, lower) {
        case ("1", "1"): "█"
        case ("1", _): "▀"
        case (_, "1"): "▄"
        default: " "
        }
      }
      // Black on white.
      return "\u{1B}[30;107m\(blocks.joined())\u{1B}[0m"
    }.joined(separator: "\n")
  }
}
