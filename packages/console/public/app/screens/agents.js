import { html } from '../lib/html.js'

export function Agents() {
  return html`<header class="bar"><h1>Agents</h1></header>`
}
