// Renders modal dialogs, such as the confirmation of an action that cannot be undone.
import { useEffect, useRef } from '../../vendor/hooks.js'
import { html } from '../lib/html.js'

/**
 * Shows a modal dialog. Closing it or pressing Escape calls `close`; the focus then returns to the element that had it before.
 * @param {{ title: string, close: () => void, large?: boolean, children?: any }} props
 */
export function Dialog({ title, close, large = false, children }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null))
  useEffect(() => {
    const before = document.activeElement
    element.current?.showModal()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return html`<dialog ref=${element} class=${large ? 'large' : ''} aria-label=${title} onClose=${close} onCancel=${close}>
    ${children}
  </dialog>`
}

/**
 * Asks for confirmation of an action that cannot be undone.
 * @param {{ title: string, text: any, act: string, danger?: boolean, close: () => void, run: () => Promise<unknown> }} props
 */
export function Confirm({ title, text, act, danger = false, close, run }) {
  /** @param {Event} event */
  const submit = async event => {
    event.preventDefault()
    await run()
    close()
  }
  return html`<${Dialog} title=${title} close=${close}>
    <form onSubmit=${submit}>
      <h1>${title}</h1>
      <div class="muted">${text}</div>
      <div class="ends">
        <button class="btn" type="button" onClick=${close}>Cancel</button>
        <button class=${`btn ${danger ? 'danger' : 'primary'}`} type="submit">${act}</button>
      </div>
    </form>
  <//>`
}
