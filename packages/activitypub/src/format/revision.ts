/** One change of something said. */
export interface Revision {
  readonly act: 'edit' | 'delete'
  /** Of this change alone. */
  readonly id: string
  /** ISO 8601 UTC. */
  readonly at: string
}
