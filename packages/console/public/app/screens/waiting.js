import { html } from '../lib/html.js'

export function Waiting() {
  return html`<header class="bar"><h1>Waiting</h1></header>`
}
