/** One change of a response. */
export interface Revision {
  readonly act: 'edit' | 'delete'
  /** The id of this change alone. */
  readonly id: string
  /** ISO 8601 UTC. */
  readonly at: string
}
