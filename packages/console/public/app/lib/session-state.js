// Holds the state of the session: signed in or not.
import { signal } from '../../vendor/signals.js'

/** The state of the session, which is `unknown` until the gateway has answered. */
export const session = signal(/** @type {'unknown' | 'open' | 'closed'} */ ('unknown'))
