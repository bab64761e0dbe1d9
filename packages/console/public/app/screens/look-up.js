import { html } from '../lib/html.js'

export function LookUp() {
  return html`<header class="bar"><h1>LookUp</h1></header>`
}
