import { html } from '../lib/html.js'

export function Deliveries() {
  return html`<header class="bar"><h1>Deliveries</h1></header>`
}
