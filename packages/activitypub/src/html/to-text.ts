import { decodeEntities } from '@postern/core'
import { findWebAddress } from '../iri.ts'
import { cleanText } from '../text-hygiene.ts'
import { classesOf, isHidden, readAttributes } from './attributes.ts'
import { createOpenElements } from './open-elements.ts'
import { createOpenLists } from './open-lists.ts'
import type { Bookmark } from './text-sheet.ts'
import { createTextSheet } from './text-sheet.ts'
import type { HtmlToken } from './tokens.ts'
import { readHtml } from './tokens.ts'

export interface ReadText {
  readonly text: string
  /** True when something was taken out that a human reader would not have seen. */
  readonly hadHidden: boolean
}

export interface ReadOptions {
  /** A mention at the very beginning that leads here is left out: it is the address on the envelope. */
  isOwnMention?(href: string): boolean
}

type Attributes = ReadonlyMap<string, string>

/** Lines that end before and after an element. */
const breaks: ReadonlyMap<string, number> = new Map([
  ...['li', 'tr', 'div'].map(name => [name, 1] as const),
  ...'p hr ul ol blockquote pre table h1 h2 h3 h4 h5 h6 section article'.split(' ').map(name => [name, 2] as const),
])
const marks: ReadonlyMap<string, string> = new Map([
  ['blockquote', '> '],
  ['td', ' '],
])
/** What stands between an address and what is said to it. */
export const afterAddress = /^\s*[,:](?=\s|$)\s*|^\s+/

interface Link {
  readonly href: string
  readonly isName: boolean
  readonly isOwn: boolean
  readonly isFirst: boolean
  readonly place: Bookmark
  /** Its text with the hidden parts, by which Mastodon shortens long addresses. */
  whole: string
  hid: boolean
}

/** Plain text of a post: paragraphs and lists kept as lines, links with their address, nothing that was hidden. */
export function htmlToText(html: string, options: ReadOptions = {}): ReadText {
  const writer = createTextWriter(options)
  for (const token of readHtml(html)) writer.take(token)
  return writer.end()
}

function createTextWriter({ isOwnMention }: ReadOptions): { take(token: HtmlToken): void; end(): ReadText } {
  const sheet = createTextSheet()
  const open = createOpenElements()
  const lists = createOpenLists()
  let hadHidden = false
  let hasDropped = false
  let link: Link | undefined

  function write(raw: string): void {
    const { text, hadHidden: had } = cleanText(decodeEntities(raw))
    hadHidden ||= had
    const isHiding = open.isHiding()
    if (link) link.whole += text
    if (link && isHiding) link.hid ||= text.trim() !== ''
    else if (isHiding) hadHidden ||= text.trim() !== ''
    if (!isHiding) sheet.append(open.isVerbatim() ? text : text.replace(/[ \t\r\n\u00a0]+/g, ' '), open.isVerbatim())
  }

  function openLink(attributes: Attributes): void {
    closeLink()
    const href = findWebAddress(attributes.get('href'))
    if (!href) return
    const isName = classesOf(attributes).some(name => name === 'mention' || name === 'hashtag')
    const isOwn = isOwnMention?.(href) === true
    link = { href, isName, isOwn, isFirst: sheet.isEmpty(), place: sheet.bookmark(), whole: '', hid: false }
  }

  /** The address decides what a link says: text that pretends to be another one is shown beside it. */
  function closeLink(): void {
    if (!link) return
    const { isOwn, isFirst, place } = link
    const isAddress = isSameAddress(link)
    // Many servers mark mentions with no class, or one of their own.
    const isName = link.isName || (isOwn && sheet.since(place).trimStart().startsWith('@'))
    hadHidden ||= link.hid && !isAddress
    if (isName && isOwn && isFirst) dropMention(place)
    else if (!isName && !open.isHiding()) writeAddress(link, isAddress)
    link = undefined
  }

  function dropMention(place: Bookmark): void {
    sheet.replaceSince(place, '')
    hasDropped = true
  }

  function writeAddress({ href, place }: Link, isAddress: boolean): void {
    const shown = sheet.since(place).trim()
    if (isAddress && shown) sheet.replaceSince(place, href)
    else sheet.append(shown ? ` (${href})` : href)
  }

  function openElement(name: string, attributes: Attributes): void {
    open.enter(name, isHidden(attributes))
    lists.enter(name, attributes)
    if (name === 'a') openLink(attributes)
  }

  function closeElement(name: string): void {
    if (name === 'a') closeLink()
    open.leave(name)
    lists.leave(name)
  }

  return {
    take(token) {
      if (token.kind === 'text') return write(token.text)
      if (token.name === 'br') sheet.addBreak()
      else sheet.breakLines(breaks.get(token.name) ?? 0)
      if (token.kind === 'close') return closeElement(token.name)
      const mark = token.name === 'li' ? lists.nextMark() : marks.get(token.name)
      if (mark) sheet.setMark(mark)
      return token.isEmpty ? undefined : openElement(token.name, readAttributes(token.attributes))
    },
    end() {
      closeLink()
      const text = sheet.toString()
      return { text: hasDropped ? text.replace(afterAddress, '') : text, hadHidden }
    },
  }
}

function isSameAddress({ whole, href }: Link): boolean {
  const text = whole.trim()
  return text === href || `https://${text}` === href || `http://${text}` === href || `${text}/` === href
}
