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
      const act = findAct(event, keys)
      if (!act) return
      event.preventDefault()
      act(event)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  })
}

/** @param {KeyboardEvent} event @param {KeyMap} keys */
function findAct(event, keys) {
  const isChord = event.ctrlKey || event.metaKey || event.altKey
  if (event.defaultPrevented || isChord) return undefined
  const { target, key } = event
  if (isTyping(event)) return key === 'Escape' && target instanceof HTMLElement ? () => target.blur() : undefined
  // A button takes the space bar and the enter key itself, and so does a link with enter.
  if (/^(Enter| )$/.test(key) && target instanceof Element && target.closest('button, summary, a[href]')) {
    if (key === 'Enter' || target.closest('button, summary')) return undefined
  }
  if (document.querySelector('dialog[open]')) return undefined
  return Object.hasOwn(keys, key) ? keys[key] : undefined
}
