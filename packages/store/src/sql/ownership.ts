// Describes whether other gateways write to the same database.

/** The sole use of a database. A process may keep rows in memory only if no other process writes. */
export interface Ownership {
  /** True if only this process writes the database. */
  readonly isAlone: boolean
}
