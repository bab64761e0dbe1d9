/** An order to send `count` mails with successive numbers. */
export interface MailOrder {
  /** The number of the first mail. */
  readonly first: number
  readonly count: number
}

export interface MailOutSetup {
  /** The port of the smarthost. */
  readonly port: number
}

/** Returns the address of a person, because every mail has a recipient of its own, as real mail does. */
export function personOf(sequenceNumber: number): string {
  return `person-${sequenceNumber}@people.test`
}
