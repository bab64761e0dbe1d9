// Describes a conversation that belongs to a transcript thread.
export interface BoundConversation {
  /** The number of the transcript thread. */
  readonly thread: number
  readonly store_thread: number
  /** The position from which there may be new entries. */
  readonly position: number
  readonly reader: string | null
}
