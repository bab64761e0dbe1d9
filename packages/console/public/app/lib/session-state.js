// Holds the state of the session: signed in or not.
import { signal } from '../../vendor/signals.js'

/** Returns true if somebody is signed in; `unknown` until the gateway has answered. */
export const session = signal(/** @type {'unknown' | 'open' | 'closed'} */ ('unknown'))
