// Gives the current time as a signal, so that countdowns continue.
import { signal } from '../../vendor/signals.js'

/** The time for countdowns, updated once a second while the page is visible. */
export const now = signal(Date.now())
setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, 1_000)
