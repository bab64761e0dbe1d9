import { useEffect } from '../../vendor/hooks.js'

/** @typedef {Record<string, (event: KeyboardEvent) => void>} KeyMap */

/** Whether the key belongs to a field that somebody types in. @param {KeyboardEvent} event */
function isTyping({ target }) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

/**
 * Keys of a screen, by `KeyboardEvent.key`. A field keeps its keys, but for Escape, which leaves it.
 * @param {KeyMap} keys
 */
export function useKeys(keys) {
  useEffect(() => {
    /** @param {KeyboardEvent} event */
    const press = event => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
      if (isTyping(event)) {
        if (event.key === 'Escape' && event.target instanceof HTMLElement) event.target.blur()
        return
      }
      if (document.querySelector('dialog[open]')) return
      const act = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined
      if (!act) return
      event.preventDefault()
      act(event)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  })
}
