import { html } from '../lib/html.js'

export function GoLive() {
  return html`<header class="bar"><h1>GoLive</h1></header>`
}
