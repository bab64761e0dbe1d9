// Binds keyboard shortcuts to a screen while it is shown.
import { useEffect } from '../../vendor/hooks.js'

/** @typedef {Record<string, (event: KeyboardEvent) => void>} KeyMap */

/** Returns true if the target of a key is a field in which somebody types. @param {KeyboardEvent} event */
function isTyping({ target }) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

/**
 * Binds the keys of a screen, by `KeyboardEvent.key`. A focused field receives all keys except Escape, which leaves the field.
 * @param {KeyMap} keys
 */
export function useKeys(keys) {
  useEffect(() => {
    /** @param {KeyboardEvent} event */
    const handleKeyDown = event => {
      const handler = findHandler(event, keys)
      if (!handler) return
      event.preventDefault()
      handler(event)
    }
    addEventListener('keydown', handleKeyDown)
    return () => removeEventListener('keydown', handleKeyDown)
  })
}

/** @param {KeyboardEvent} event @param {KeyMap} keys */
function findHandler(event, keys) {
  const isChord = event.ctrlKey || event.metaKey || event.altKey
  if (event.defaultPrevented || isChord) return undefined
  const { target, key } = event
  if (isTyping(event)) return key === 'Escape' && target instanceof HTMLElement ? () => target.blur() : undefined
  // A button handles the space bar and the enter key itself, and a link handles enter.
  if (/^(Enter| )$/.test(key) && target instanceof Element && target.closest('button, summary, a[href]')) {
    if (key === 'Enter' || target.closest('button, summary')) return undefined
  }
  if (document.querySelector('dialog[open]')) return undefined
  return Object.hasOwn(keys, key) ? keys[key] : undefined
}
