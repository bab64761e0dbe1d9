// Shows the markup of a mail or post in a frame without scripts or network access.
import { useLayoutEffect, useRef } from '../../../vendor/hooks.js'
import { html } from '../../lib/html.js'

/** @typedef {{ createHTML: (text: string) => any }} MarkupPolicy */

/** Allows foreign markup only here: inside a frame without scripts, forms, links to this page or network access. @type {MarkupPolicy} */
const policy = /** @type {any} */ (globalThis).trustedTypes?.createPolicy('mail-preview', {
  createHTML: (/** @type {string} */ text) => text,
}) ?? { createHTML: text => text }

const head = `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:">`

/** Shows a mail or post as its reader sees it. @param {{ markup: string, title?: string }} props */
export function MailFrame({ markup, title = 'The mail as its reader sees it' }) {
  const frame = useRef(/** @type {HTMLIFrameElement | null} */ (null))
  useLayoutEffect(() => {
    if (frame.current) frame.current.srcdoc = policy.createHTML(`${head}${markup}`)
  }, [markup])
  return html`<iframe ref=${frame} sandbox="" referrerpolicy="no-referrer" title=${title}></iframe>`
}
