/// Replaces a stretch of an old text; edits of one change do not overlap and stand in order.
struct TextEdit: Hashable {
  /// The replaced scalars of the old text.
  var range: Range<Int>
  var replacement: [Unicode.Scalar]

  /// The edits that turn `old` into `new`: the fewest scalars deleted and inserted.
  ///
  /// Where that takes more work than `LinearDifference` may do, as between two unlike texts of many
  /// thousand scalars, whole lines are compared first and then the scalars inside changed lines; what
  /// is too much even so is replaced in one stretch.
  static func edits(from old: [Unicode.Scalar], to new: [Unicode.Scalar]) -> [TextEdit] {
    let (oldValues, newValues) = (old.map(\.value), new.map(\.value))
    let exact = LinearDifference(from: oldValues, to: newValues)
    let hunks = exact.isMinimal ? exact.hunks : hunksByLine(from: oldValues, to: newValues)
    return hunks.map { TextEdit(range: $0.old, replacement: Array(new[$0.new])) }
  }

  private static func hunksByLine(from old: [UInt32], to new: [UInt32]) -> [LinearDifference.Hunk] {
    var names: [ArraySlice<UInt32>: UInt32] = [:]
    let oldLines = Lines(old, names: &names)
    let newLines = Lines(new, names: &names)
    let coarse = LinearDifference(from: oldLines.names, to: newLines.names)
    var work = LinearDifference.workMax
    return coarse.hunks.flatMap { hunk -> [LinearDifference.Hunk] in
      let oldPart = oldLines.scalars(of: hunk.old)
      let newPart = newLines.scalars(of: hunk.new)
      let fine = LinearDifference(
        from: Array(old[oldPart]), to: Array(new[newPart]), work: max(work, 0))
      work = fine.work
      return fine.hunks.map { part in
        LinearDifference.Hunk(
          old: part.old.lowerBound + oldPart.lowerBound..<part.old.upperBound + oldPart.lowerBound,
          new: part.new.lowerBound + newPart.lowerBound..<part.new.upperBound + newPart.lowerBound)
      }
    }
  }

  /// A text cut behind each line feed; equal lines have one name.
  private struct Lines {
    var names: [UInt32] = []
    private var starts = [0]

    init(_ text: [UInt32], names known: inout [ArraySlice<UInt32>: UInt32]) {
      let lineFeed = Unicode.Scalar("\n").value
      var start = 0
      while start < text.count {
        let end = text[start...].firstIndex(of: lineFeed).map { $0 + 1 } ?? text.count
        let fresh = UInt32(truncatingIfNeeded: known.count)
        let name = known[text[start..<end]] ?? fresh
        known[text[start..<end]] = name
        names.append(name)
        starts.append(end)
        start = end
      }
    }

    func scalars(of lines: Range<Int>) -> Range<Int> {
      starts[lines.lowerBound]..<starts[lines.upperBound]
    }
  }
}
