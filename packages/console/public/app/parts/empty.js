import { html } from '../lib/html.js'

/** Says why nothing is here and what to do next. @param {{ title: string, children?: any }} props */
export function Empty({ title, children }) {
  return html`<div class="empty"><h2>${title}</h2>${children}</div>`
}

/** A request that went wrong, with its fix, as the gateway said it. @param {{ error: Error | undefined, retry?: () => void }} props */
export function Problem({ error, retry }) {
  if (!error) return null
  return html`<div class="problem" role="alert">
    ${error.message} ${retry && html`<button class="btn small" type="button" onClick=${retry}>Try again</button>`}
  </div>`
}

/** While the first answer is on its way: the height of what comes, without a word that flashes. */
export function Loading() {
  return html`<div class="empty" role="status"><span class="hidden">Loading</span></div>`
}
