/** Creates the elements of Markdown tokens from a list of allowed names, so that no markup or attribute of the text reaches the page. */
import { make, makeLink, readAddress } from './elements.js'

/** The deepest nesting of elements, because nested emphasis would reach the depth at which browsers fail. */
const maxDepth = 40

/** @typedef {import('markdown-it').Token} Token */
/** @typedef {{ node: Node, depth: number, isLinked: boolean }} Spot */

/** The elements for headings, below the levels of the page itself. @type {Readonly<Record<string, string>>} */
const headings = { h1: 'h3', h2: 'h4', h3: 'h5', h4: 'h6', h5: 'h6', h6: 'h6' }
const tags = new Set('p h3 h4 h5 h6 blockquote ul ol li table thead tbody tr th td em strong s'.split(' '))
/** Blocks that take the direction of their own text. */
const ownDirection = new Set('p h3 h4 h5 h6 blockquote ul ol li th td'.split(' '))

/** @param {readonly Token[]} tokens @returns {DocumentFragment} */
export function build(tokens) {
  const fragment = document.createDocumentFragment()
  fill({ node: fragment, depth: 0, isLinked: false }, tokens)
  return fragment
}

/** Creates the elements of tokens. @param {Spot} spot @param {readonly Token[]} tokens */
function fill(spot, tokens) {
  const path = [spot]
  for (const token of tokens) {
    const at = path[path.length - 1] ?? spot
    if (token.nesting > 0) path.push(open(at, token))
    else if (token.nesting < 0) path.pop()
    else append(at, token)
  }
}

/** Creates the element of a token, and returns the position inside it. @param {Spot} spot @param {Token} token @returns {Spot} */
function open(spot, token) {
  if (token.hidden || spot.depth >= maxDepth) return spot
  const depth = spot.depth + 1
  const href = token.tag === 'a' && !spot.isLinked ? readAddress(String(token.attrGet('href'))) : undefined
  if (href) return { node: spot.node.appendChild(makeLink(href)), depth, isLinked: true }
  const tag = headings[token.tag] ?? token.tag
  if (!tags.has(tag)) return spot
  const element = make(tag, ownDirection.has(tag) ? { dir: 'auto' } : {})
  const start = Number(token.attrGet('start') ?? 1)
  if (tag === 'ol' && start !== 1) element.setAttribute('start', String(start))
  const side = /^text-align:(center|right)$/.exec(String(token.attrGet('style')))?.[1]
  if (side) element.className = side
  // A table may be wider than the message, so it gets its own scroll bar.
  spot.node.appendChild(tag === 'table' ? make('div', { class: 'table', tabindex: '0' }, [element]) : element)
  return { node: element, depth, isLinked: spot.isLinked }
}

/** Appends the element of a token that has no closing token. @param {Spot} spot @param {Token} token */
function append(spot, token) {
  if (token.type === 'inline') fill(spot, token.children ?? [])
  else if (token.type === 'image') linkImage(spot, token)
  else spot.node.appendChild(leafOf(token))
}

/** Links to an image instead of showing it, because the chat loads nothing from other hosts. @param {Spot} spot @param {Token} image */
function linkImage(spot, image) {
  const href = spot.isLinked ? undefined : readAddress(String(image.attrGet('src')))
  const node = href ? spot.node.appendChild(makeLink(href)) : spot.node
  fill({ node, depth: spot.depth + 1, isLinked: true }, image.children ?? [])
  if (!node.hasChildNodes()) node.appendChild(document.createTextNode(href ?? ''))
}

/** @param {Token} token @returns {Node} */
function leafOf({ type, content }) {
  if (type === 'fence' || type === 'code_block') return make('pre', { tabindex: '0' }, [make('code', {}, [content])])
  if (type === 'code_inline') return make('code', {}, [content])
  if (type === 'softbreak' || type === 'hardbreak') return make('br')
  return type === 'hr' ? make('hr') : document.createTextNode(content)
}
