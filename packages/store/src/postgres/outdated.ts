import { Unavailable } from '@postern/core'

/** Tables have been brought to another form than this release writes: whoever comes is told to come again, to the next one. */
export class Outdated extends Unavailable {
  constructor() {
    super('Cannot store: this gateway is about to be replaced', { retryAfter: 5 })
  }
}

/** What an operator reads. */
export const outdatedProblem = 'a newer release has changed the tables of the database while this one ran'
export const outdatedFix = 'Start that release here, too.'
