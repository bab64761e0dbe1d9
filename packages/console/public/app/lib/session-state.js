import { signal } from '../../vendor/signals.js'

/** Whether somebody is signed in: `unknown` until the gateway has said so. */
export const session = signal(/** @type {'unknown' | 'open' | 'closed'} */ ('unknown'))
