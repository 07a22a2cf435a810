import QueueModel
import SequenceCRDT

// Editions
extension DeltaEncoder {
  mutating func writeEdition(
    of message: OperationID, clears: [OperationID], note: String, id: DeltaFormat.LocalID
  ) {
    let elementTag = elementTag(message, isMessage: true)
    let clearsTag = clearsTag(clears, neighbour: message, same: nil)
    self[.heads].byte(DeltaFormat.Head.putEdition)
    self[.modes].byte(clearsTag | elementTag << 2)
    write(message, tag: elementTag, isMessage: true)
    write(clears, tag: clearsTag)
    writePieces(of: Array(note.utf8), message: message)
    context[.tag, id.replica] = id.seq
  }

  private mutating func writePieces(of note: [UInt8], message: OperationID) {
    let past = pasts.past(of: message)
    let pieces = NotePieces(
      of: note, edition: Array(past.edition.utf8), inserted: Array(past.inserted.utf8)
    ).pieces
    self[.values].count(pieces.count)
    var (nextOfEdition, nextOfInserted) = (0, 0)
    for piece in pieces {
      self[.values].number(UInt64(piece.count) << 2 | piece.kind.rawValue)
      switch piece.kind {
      case .new:
        self[.strings].raw(note[piece.start..<piece.start + piece.count])
        continue
      case .edition:
        self[.structure].signed(Int64(piece.start - nextOfEdition))
        nextOfEdition = piece.start + piece.count
      case .inserted:
        self[.structure].signed(Int64(piece.start - nextOfInserted))
        nextOfInserted = piece.start + piece.count
      }
      copiedBytes += piece.count
    }
  }

  /// Notes what the rows before one with an edition have of their messages.
  mutating func catchUp(with rows: ArraySlice<DeltaRow>) {
    for row in rows[pasts.knownCount...] {
      switch row.body {
      case .insertText(let insertion): pasts.insert(row.text, into: insertion.message)
      case .addTag(let element, .edition, _, let note): pasts.put(note, on: element)
      default: break
      }
    }
    pasts.knownCount = rows.endIndex
  }
}
