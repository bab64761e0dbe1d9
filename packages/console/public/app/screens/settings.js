import { html } from '../lib/html.js'

export function Settings() {
  return html`<header class="bar"><h1>Settings</h1></header>`
}
