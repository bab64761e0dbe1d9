// Copies texts to the clipboard and saves them as files.
import { html } from '../lib/html.js'
import { say } from './toast.js'

/** @param {string} text @param {string} what */
export async function copyText(text, what) {
  try {
    await navigator.clipboard.writeText(text)
    say(`${what} copied`)
  } catch {
    say('The browser does not let this page copy. Mark the text and copy it yourself.', 'bad')
  }
}

/** @param {{ text: string, what: string, label?: string }} props */
export function Copy({ text, what, label = 'Copy' }) {
  return html`<button class="btn small" type="button" onClick=${() => copyText(text, what)}>
    ${label}<span class="hidden"> ${what}</span>
  </button>`
}

/** Saves a text as a file. @param {string} name @param {string | Uint8Array<ArrayBuffer>} content @param {string} type */
export function saveFile(name, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
