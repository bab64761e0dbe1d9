// Declares whether other gateways write to the same database.

/** States whether this process is the only writer of a database. Only such a process may cache rows. */
export interface WriterExclusivity {
  /** True if only this process writes the database. */
  readonly isSoleWriter: boolean
}
