// Shows short messages in a corner of the page for a few seconds.
import { signal } from '../../vendor/signals.js'
import { html } from '../lib/html.js'

/** @typedef {{ id: number, text: string, kind: string }} Toast */

const toasts = signal(/** @type {readonly Toast[]} */ ([]))
let count = 0
const shownMs = 5_000

/** Shows a message for a few seconds. @param {string} text @param {'' | 'bad'} [kind] */
export function say(text, kind = '') {
  count += 1
  const id = count
  toasts.value = [...toasts.value.slice(-2), { id, text, kind }]
  setTimeout(() => {
    toasts.value = toasts.value.filter(toast => toast.id !== id)
  }, shownMs)
}

/** Runs an action and shows a message about its success or failure. @param {() => Promise<unknown>} work @param {string} [done] */
export async function attempt(work, done) {
  try {
    await work()
    if (done) say(done)
    return true
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), 'bad')
    return false
  }
}

export function Toasts() {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${toasts.value.map(({ id, text, kind }) => html`<div key=${id} class=${`toast ${kind}`}>${text}</div>`)}
  </div>`
}
