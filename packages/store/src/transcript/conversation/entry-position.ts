// Describes the position of a message or answer in its conversation.

/** The row of a message, answer or note with its position. An answer has the position of its message. */
export interface EntryPosition {
  readonly seq: number
  readonly position: number
}
