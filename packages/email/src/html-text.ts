// Not all of core: a thread that reads mail starts a third sooner without its schemas.
import { decodeEntities } from '@postern/core/html-characters'
import {
  blockElements,
  elementMarks,
  hidesInColour,
  hidingAttributes,
  hidingDeclarations,
  quotesMessage,
  quotingMarks,
  silentElements,
  voidElements,
} from './html-elements.ts'
import type { HiddenNames } from './html-styles.ts'
import { hidesByName, readHiddenNames } from './html-styles.ts'

/** Text of an HTML body, and whether something in it was hidden from a reader. */
export interface HtmlText {
  readonly text: string
  readonly hasHidden: boolean
}

/** Attributes of one tag are looked at up to here. */
const maxTag = 4096

export interface HtmlReading {
  /** Without the message that is answered. */
  readonly dropsQuotes?: boolean | undefined
}

interface Reading {
  readonly dropsQuotes: boolean
  readonly hidden: HiddenNames
  /** What follows is quoted, all of it. */
  isOver: boolean
  readonly pieces: string[]
  /** Line ends due before the next text. */
  due: number
  hasHidden: boolean
  /** The element whose content is skipped, and how many of its name are open in it. */
  skipped: { readonly name: string; readonly isHidden: boolean; depth: number } | undefined
  /** Targets of the links we are in; undefined for one not worth showing. */
  readonly links: (string | undefined)[]
  linkStart: number
}

/**
 * Plain text of HTML in one pass, for mail without a text part. Nothing is fetched; scripts, styles and what a reader
 * would not see are left out; of links only http, https and mailto keep their target.
 */
export function textOfHtml(html: string, { dropsQuotes = false }: HtmlReading = {}): HtmlText {
  const reading: Reading = {
    dropsQuotes,
    hidden: readHiddenNames(html),
    isOver: false,
    pieces: [],
    due: 0,
    hasHidden: false,
    skipped: undefined,
    links: [],
    linkStart: 0,
  }
  let at = 0
  while (at < html.length && !reading.isOver) {
    const open = html.indexOf('<', at)
    addText(html.slice(at, open < 0 ? html.length : open), reading)
    if (open < 0) break
    at = readMarkup(html, open, reading)
  }
  return { text: tidy(reading.pieces.join('')), hasHidden: reading.hasHidden }
}

function addText(raw: string, reading: Reading): void {
  if (!raw) return
  const text = decodeEntities(raw).replace(/\s+/g, ' ')
  if (!reading.skipped) pushText(text, reading)
  else if (reading.skipped.isHidden && text.trim()) reading.hasHidden = true
}

/** Space between blocks is none of the text. */
function pushText(text: string, reading: Reading): void {
  if (reading.due > 0 && !text.trim()) return
  reading.pieces.push('\n'.repeat(reading.due), text)
  reading.due = 0
}

/** Past one tag, comment or stray `<`. */
function readMarkup(html: string, open: number, reading: Reading): number {
  if (html.startsWith('<!--', open)) return past(html, '-->', open + 4)
  if (!/[a-z/!?]/i.test(html[open + 1] ?? '')) {
    addText('<', reading)
    return open + 1
  }
  const end = html.indexOf('>', open)
  if (end < 0) return html.length
  readTag(html.slice(open + 1, Math.min(end, open + maxTag)), reading)
  return end + 1
}

function past(html: string, mark: string, from: number): number {
  const at = html.indexOf(mark, from)
  return at < 0 ? html.length : at + mark.length
}

function readTag(tag: string, reading: Reading): void {
  const isClosing = tag.startsWith('/')
  const name = (/^\/?([a-z][a-z0-9]*)/i.exec(tag)?.[1] ?? '').toLowerCase()
  if (reading.skipped) passSkipped(name, isClosing, reading)
  else if (isClosing) closeTag(name, reading)
  else openTag(name, tag, reading)
}

function openTag(name: string, tag: string, reading: Reading): void {
  if (name === 'a') openLink(tag, reading)
  if (name === 'br') reading.due = Math.min(reading.due + 1, 2)
  const isHidden =
    hidingAttributes.test(tag) || hidingDeclarations.test(tag) || hidesInColour(tag) || hidesByName(tag, reading.hidden)
  const isQuote = reading.dropsQuotes && quotesMessage(tag)
  reading.isOver = reading.dropsQuotes && quotingMarks.test(tag)
  const isEmpty = voidElements.has(name) || tag.endsWith('/')
  if (!isEmpty && (isHidden || isQuote || silentElements.has(name))) reading.skipped = { name, isHidden, depth: 1 }
  else markBlock(name, reading)
}

function closeTag(name: string, reading: Reading): void {
  if (name === 'a') closeLink(reading)
  reading.due = Math.max(reading.due, blockElements[name] ?? 0)
}

function markBlock(name: string, reading: Reading): void {
  reading.due = Math.max(reading.due, blockElements[name] ?? 0)
  const mark = elementMarks[name]
  if (!mark) return
  reading.pieces.push('\n'.repeat(reading.due), mark)
  reading.due = 0
}

function passSkipped(name: string, isClosing: boolean, reading: Reading): void {
  const { skipped } = reading
  if (!skipped || name !== skipped.name) return
  skipped.depth += isClosing ? -1 : 1
  if (skipped.depth === 0) reading.skipped = undefined
}

function openLink(tag: string, reading: Reading): void {
  const href = /\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/i.exec(tag)
  const target = decodeEntities(href?.[1] ?? href?.[2] ?? href?.[3] ?? '').trim()
  if (reading.links.length >= 16) return
  reading.links.push(/^(https?|mailto):/i.test(target) ? target.slice(0, 2048) : undefined)
  reading.linkStart = reading.pieces.length
}

/** The target is shown beside the text when it is not what the text says. */
function closeLink(reading: Reading): void {
  const target = reading.links.pop()
  if (!target) return
  const shown = reading.pieces.slice(reading.linkStart).join('').trim()
  if (!target.includes(shown.replace(/^https?:\/\/|\/$/g, '') || '\0')) reading.pieces.push(` <${target}>`)
}

function tidy(text: string): string {
  return text
    .split('\n')
    .map(line => line.replace(/[ \t]{2,}/g, ' ').trim())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
