// Describes whether other gateways write to the same database.

/** Tells whether this process is the only writer of a database. Only then may it keep rows in memory. */
export interface WriterExclusivity {
  /** True if only this process writes the database. */
  readonly isSoleWriter: boolean
}
