// Lists the addresses that are proven to belong to one person.
import { formatInstant } from '../../lib/format.js'
import { html } from '../../lib/html.js'
import { linkTo } from '../../lib/router.js'

/** Shows the addresses that are proven to belong to one person. @param {{ links: readonly any[] }} props */
export function Links({ links }) {
  if (links.length === 0) return null
  return html`<section class="panel" aria-label="Linked addresses">
    <header><h2>Linked addresses</h2><span class="muted">One person, as they have proven themselves</span></header>
    ${links.map(
      ({ number, agent, asker, target, asked, confirmed, since }) => html`<div class="item" key=${number}>
        <span class="grow"><${Address} of=${asker} /> = <${Address} of=${target} /> <span class="muted">with ${agent}</span></span>
        <span class="muted">
          by <a class="link" href=${linkTo('message', { subject: asked })}>#${asked}</a> and
          ${' '}<a class="link" href=${linkTo('message', { subject: confirmed })}>#${confirmed}</a>
        </span>
        <span class="muted">${formatInstant(since)}</span>
      </div>`,
    )}
  </section>`
}

/** @param {{ of: any }} props */
function Address({ of }) {
  return html`<a class="link" href=${linkTo('people', { subject: senderOf(of) })}>${of.address}</a>`
}

/** Returns a linked address in the form that messages use for senders. @param {{ via: string, address: string }} linked @returns {string} */
export function senderOf({ via, address }) {
  return via === 'web' || address.startsWith('@') ? address : `@${address}`
}

/**
 * Returns an address and every address that is linked to it, directly or through others.
 * @param {string} address @param {readonly any[]} links
 * @returns {ReadonlySet<string>}
 */
export function addressesOf(address, links) {
  const found = new Set([address])
  for (let size = 0; size < found.size; ) {
    size = found.size
    for (const link of links) {
      const ends = [senderOf(link.asker), senderOf(link.target)]
      if (ends.some(end => found.has(end))) for (const end of ends) found.add(end)
    }
  }
  return found
}
