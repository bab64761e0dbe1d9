import { html } from '../lib/html.js'

export function People() {
  return html`<header class="bar"><h1>People</h1></header>`
}
