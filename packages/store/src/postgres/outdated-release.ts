// Refuses work after a newer release has changed the tables.
import { Unavailable } from '@postern/message'

/** The error after a newer release has changed the tables. It asks peers to retry, because they then reach a gateway of that release. */
export class OutdatedReleaseError extends Unavailable {
  constructor() {
    super('Cannot store: this gateway is about to be replaced', { retryAfter: 5 })
  }
}

/** The message for operators. */
export const outdatedMessage = 'a newer release has changed the tables of the database while this one ran'
export const outdatedFix = 'Start that release here, too.'
