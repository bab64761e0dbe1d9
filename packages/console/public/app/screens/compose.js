import { html } from '../lib/html.js'

export function Compose() {
  return html`<header class="bar"><h1>Compose</h1></header>`
}
