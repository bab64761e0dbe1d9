// Refuses work after another release has changed the tables.
import { Unavailable } from '@postern/message'

/** The error after another release has changed the tables. Peers are asked to retry, and then reach the next gateway. */
export class Outdated extends Unavailable {
  constructor() {
    super('Cannot store: this gateway is about to be replaced', { retryAfter: 5 })
  }
}

/** The problem in the form that operators read. */
export const outdatedProblem = 'a newer release has changed the tables of the database while this one ran'
export const outdatedFix = 'Start that release here, too.'
