/** Renders the Markdown of a message while the message is still arriving. */
import { make, readAddress } from './elements.js'
import { findStableLength } from './stable-length.js'
import { build } from './tokens.js'
import MarkdownIt from './vendor/markdown-it.js'

/** The longest block that is parsed. A longer one appears as plain text, because parsing it again with each chunk would block the page. */
const maxBlock = 100_000
/** The largest number of characters that are parsed at once. */
const maxPiece = 50_000
/** The nesting level from which the rest of a message is shown as plain text. */
const maxNesting = 20
/** The pause after parsing, as a multiple of the time that parsing took. */
const restFactor = 5

/** @typedef {import('markdown-it').Token} Token */
/** @typedef {Record<string, { href: string, title: string }>} References links that are defined elsewhere in the text */

const parser = createParser()

/** Creates a parser of CommonMark with GFM's tables and strikethrough, which the mail channel supports too. */
function createParser() {
  const created = new MarkdownIt({ html: false, linkify: true, breaks: true })
  created.set({ maxNesting: maxNesting + 1 })
  created.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
  created.linkify.add('//', null).add('ftp:', null)
  // Links appear as written, because a decoded address could look like another address.
  created.normalizeLinkText = address => address
  created.normalizeLink = address => readAddress(address) ?? ''
  created.validateLink = address => address !== ''
  return created
}

/** The Markdown of one message, during and after its arrival. */
export class MarkdownText {
  #element
  #onWritten
  #text = ''
  /** The text that is not parsed yet. */
  #waiting = ''
  /** The text of the blocks that may still change, and their elements. */
  #tail = ''
  /** @type {readonly ChildNode[]} */
  #tailNodes = []
  /** @type {References} */
  #references = {}
  #isPlain = false
  /** True if the last chunk ended with a carriage return, whose line feed may still follow. */
  #isAfterReturn = false
  #costMs = 0
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer

  /** @param {HTMLElement} element @param {() => void} [onWritten] called when the element has changed */
  constructor(element, onWritten = () => undefined) {
    this.#element = element
    this.#onWritten = onWritten
  }

  /** Adds a chunk, which appears soon. Parsing takes a bounded share of the time, however many chunks arrive. @param {string} piece */
  append(piece) {
    const isCut = this.#isAfterReturn && piece[0] === '\n'
    // All line ends become line feeds, so that lines count as in the library.
    const lines = piece.slice(isCut ? 1 : 0).replaceAll(/\r\n?/g, '\n')
    if (piece !== '') this.#isAfterReturn = piece.endsWith('\r')
    this.#text += lines
    this.#waiting += lines
    this.#plan()
  }

  /** Shows the whole message, because no more text arrives. */
  end() {
    clearTimeout(this.#timer)
    while (this.#waiting.length > maxPiece) this.#read()
    this.#read(true)
    // A link's definition may follow the block that uses the link.
    const mayBeLate = this.#text.includes(']:') && this.#text.length <= maxBlock
    if (mayBeLate && !this.#isPlain) this.#element.replaceChildren(build(parser.parse(this.#text, {})))
    this.#onWritten()
  }

  #plan() {
    this.#timer ??= setTimeout(() => {
      const begun = performance.now()
      this.#timer = undefined
      this.#read()
      this.#onWritten()
      this.#costMs = performance.now() - begun
      if (this.#waiting !== '') this.#plan()
    }, restFactor * this.#costMs)
  }

  /** Parses the next chunk, and rebuilds the blocks that it may have changed. @param {boolean} [isEnd] */
  #read(isEnd = false) {
    this.#tail += this.#waiting.slice(0, maxPiece)
    this.#waiting = this.#waiting.slice(maxPiece)
    if (this.#isPlain) {
      this.#tailNodes[0]?.appendChild(document.createTextNode(this.#tail))
      this.#tail = ''
      return
    }
    const shown = isEnd ? this.#tail : this.#tail.slice(0, findStableLength(this.#tail))
    const tokens = shown.length > maxBlock ? undefined : this.#parse(shown, Object.create(this.#references))
    if (tokens === undefined) return this.#showPlain()
    const stable = countStable(tokens, shown)
    for (const node of this.#tailNodes) node.remove()
    this.#element.append(build(tokens.slice(0, stable.tokens)))
    const tailFragment = build(tokens.slice(stable.tokens))
    this.#tailNodes = [...tailFragment.childNodes]
    this.#element.append(tailFragment)
    const stableText = shown.slice(0, stable.length)
    if (stableText.includes(']:')) parser.parse(stableText, { references: this.#references })
    this.#tail = this.#tail.slice(stable.length)
  }

  /**
   * Parses a text into tokens. Returns undefined if the text nests so deeply that the library would omit some of it.
   * @param {string} text
   * @param {References} references
   */
  #parse(text, references) {
    const tokens = parser.parse(text, { references })
    return tokens.some(({ level }) => level >= maxNesting) ? undefined : tokens
  }

  /** Shows the rest of the message as plain text. */
  #showPlain() {
    this.#isPlain = true
    for (const node of this.#tailNodes) node.remove()
    const plain = make('div', { class: 'plain' })
    plain.textContent = this.#tail
    this.#element.append(plain)
    this.#tailNodes = [plain]
    this.#tail = ''
  }
}

/**
 * Counts the tokens and characters of blocks that later text cannot change. They precede the last block that starts on a whole line.
 * @param {readonly Token[]} tokens @param {string} text
 */
function countStable(tokens, text) {
  const wholeLines = text.split('\n').length - 1
  const blocks = tokens.flatMap(({ level, nesting, map }, index) =>
    level === 0 && nesting >= 0 && map && map[0] < wholeLines ? [{ index, end: map[1] }] : [],
  )
  const [secondLast, last] = blocks.slice(-2)
  if (!secondLast || !last) return { tokens: 0, length: 0 }
  let length = 0
  for (let line = 0; line < secondLast.end; line += 1) length = text.indexOf('\n', length) + 1
  return { tokens: last.index, length }
}
