// Renders the badges of channels, proofs, states and deliveries.
import { html } from '../lib/html.js'

const channelWords = /** @type {Record<string, string>} */ ({
  activitypub: 'fediverse',
  a2a: 'agents',
  email: 'email',
  web: 'chat',
})

/** Returns the name of a channel for the console. @param {string} name */
export function nameChannel(name) {
  return Object.hasOwn(channelWords, name) ? channelWords[name] : name
}

/** @param {{ name: string }} props */
export function Channel({ name }) {
  return html`<span class=${`chan ${Object.hasOwn(channelWords, name) ? name : ''}`}>${nameChannel(name)}</span>`
}

/** Shows whether the transport proved the sender. @param {{ verified: boolean, long?: boolean }} props */
export function Proven({ verified, long = false }) {
  const [kind, words, sign] = verified ? ['good', 'proven', '✓'] : ['warn', 'not proven', '?']
  return html`<span class=${`badge ${kind}`} title=${words}>
    ${long ? words : html`<span aria-hidden="true">${sign}</span><span class="hidden">${words}</span>`}
  </span>`
}

/** @param {{ kind?: string, children?: any }} props */
export function Badge({ kind = 'muted', children }) {
  return html`<span class=${`badge ${kind}`}>${children}</span>`
}

const deliveryKinds = /** @type {Record<string, string>} */ ({
  sent: 'good',
  queued: 'faint',
  later: 'warn',
  dead: 'bad',
  dismissed: 'faint hollow',
})

/** Shows a dot for each delivery. @param {{ states: readonly string[] }} props */
export function DeliveryDots({ states }) {
  if (states.length === 0) return html`<span></span>`
  return html`<span class="dots" title=${states.join(', ')}>
    <span class="hidden">${states.join(', ')}</span>
    ${states.slice(0, 3).map(state => html`<i class=${`dot ${deliveryKinds[state] ?? 'faint'}`} aria-hidden="true"></i>`)}
  </span>`
}
