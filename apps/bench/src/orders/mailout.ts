/** So many mails, one after the other. */
export interface MailOrder {
  /** Number of the first. */
  readonly first: number
  readonly count: number
}

export interface MailOutSetup {
  /** Where the smarthost listens. */
  readonly port: number
}

/** Everybody is written to by name, as people are. */
export function personOf(number: number): string {
  return `person-${number}@people.test`
}
