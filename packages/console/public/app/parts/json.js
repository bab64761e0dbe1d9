// Renders JSON with syntax colours, and other code as plain text.
import { html } from '../lib/html.js'

/** The number of characters after which a text is cut off; the download is complete. */
const most = 200_000

const pieces = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)\b/g

/** Shows JSON with colours for names and values. Each piece is inserted as text. @param {{ value: unknown, label?: string }} props */
export function Json({ value, label = 'JSON' }) {
  return html`<pre class="code" tabindex="0" aria-label=${label}>${colour(write(value))}</pre>`
}

/** @param {unknown} value */
function write(value) {
  const text = JSON.stringify(value, null, 2) ?? 'undefined'
  return text.length > most ? `${text.slice(0, most)}\n… ${text.length - most} more characters` : text
}

/** @param {string} text */
function colour(text) {
  const found = []
  let at = 0
  for (const match of text.matchAll(pieces)) {
    found.push(text.slice(at, match.index))
    const [whole, string, colon = '', other] = match
    if (string === undefined) found.push(html`<span class="n">${other}</span>`)
    else found.push(html`<span class=${colon ? 'k' : 's'}>${string}</span>`, colon)
    at = match.index + whole.length
  }
  found.push(text.slice(at))
  return found
}

/** Shows text as it is. @param {{ text: string, label?: string }} props */
export function Code({ text, label = 'text' }) {
  const shown = text.length > most ? `${text.slice(0, most)}\n… ${text.length - most} more characters` : text
  return html`<pre class="code" tabindex="0" aria-label=${label}>${shown}</pre>`
}
