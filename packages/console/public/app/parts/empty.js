// Renders a screen without content: an empty list, a failed request or a pending answer.
import { html } from '../lib/html.js'

/** Explains why nothing is here and what to do next. @param {{ title: string, children?: any }} props */
export function Empty({ title, children }) {
  return html`<div class="empty"><h2>${title}</h2>${children}</div>`
}

/** Shows the failure of a request with the gateway's advice on how to fix it. @param {{ error: Error | undefined, retry?: () => void }} props */
export function Problem({ error, retry }) {
  if (!error) return null
  return html`<div class="problem" role="alert">
    ${error.message} ${retry && html`<button class="btn small" type="button" onClick=${retry}>Try again</button>`}
  </div>`
}

/** Reserves space for the content until the first answer arrives, without text that would flash. */
export function Loading() {
  return html`<div class="empty" role="status"><span class="hidden">Loading</span></div>`
}
