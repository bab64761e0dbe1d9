import { signal } from '../../vendor/signals.js'

/** The time, told once a second while somebody looks: for countdowns. */
export const now = signal(Date.now())
setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, 1_000)
