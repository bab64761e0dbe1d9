/** Creates the elements of the chat by name, so that text never becomes markup. */

/**
 * Creates an element whose attributes the chat itself chooses.
 * @param {string} name
 * @param {Record<string, string>} [attributes]
 * @param {readonly (Node | string)[]} [children]
 */
export function make(name, attributes = {}, children = []) {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.append(...children)
  return element
}

/** Returns the absolute address of a page or mailbox, or undefined for any other text. @param {string} written */
export function readAddress(written) {
  const url = URL.parse(written)
  return url && /^(?:https?|mailto):$/.test(url.protocol) ? url.href : undefined
}

/** Creates a link to a foreign page, in a new tab that cannot access this one. @param {string} href @param {readonly (Node | string)[]} [children] */
export function makeLink(href, children = []) {
  // The title shows the address, because the link's text may claim another one.
  return make('a', { href, title: href, target: '_blank', rel: 'noopener noreferrer nofollow' }, children)
}

const address = /https?:\/\/[^\s<>"')\]]{1,1000}/g

/** Renders text with its web addresses as links, and everything else as plain text. @param {string} text */
export function linkify(text) {
  /** @type {(Node | string)[]} */
  const found = []
  let at = 0
  for (const match of text.matchAll(address)) {
    found.push(text.slice(at, match.index), makeLink(match[0], [match[0]]))
    at = match.index + match[0].length
  }
  return [...found, text.slice(at)]
}
