import { escapeHtml } from '@postern/core'
import { findWebAddress } from '../format/iri.ts'
import type { InlineWriter } from './inline-writer.ts'
import { createInlineWriter } from './inline-writer.ts'

/** Reads a construct at `at` and returns where it ends; `at` itself when there is none. */
type InlineRule = (text: string, at: number, out: InlineWriter) => number

/** Emphasis marks and their elements; of two that fit, the longer. */
const emphasis: readonly (readonly [mark: string, element: string])[] = [
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 'del'],
  ['*', 'em'],
  ['_', 'em'],
]
const maxAddress = 2_048
const notInAddress: ReadonlySet<string> = new Set([' ', '\n', '\t', '[', ']', '<', '>', '"'])
const plainRun = /[^\\`*_~[\]!<h\n]+/y
const codeSpan = /(`+)([^`]+)\1(?!`)/y
const backticks = /`+/y
const bareAddress = /https?:\/\/[^\s<>"'`\\\][{}|^]{1,2048}/iy
const angleAddress = /<(https?:\/\/[^\s<>]{1,2048})>/iy

/** By the character it begins with. */
const rules: ReadonlyMap<string, InlineRule> = new Map<string, InlineRule>([
  ['\\', takeEscape],
  ['`', takeCode],
  ['*', takeEmphasis],
  ['_', takeEmphasis],
  ['~', takeEmphasis],
  ['!', takeImageMark],
  ['[', takeLinkStart],
  [']', takeLinkEnd],
  ['<', takeAngleAddress],
  ['h', takeBareAddress],
  ['\n', takeLineEnd],
])

/** Markdown inside of a block as HTML: everything that is not markup we know is escaped text. One pass. */
export function inlineToHtml(text: string): string {
  const out = createInlineWriter()
  for (let at = 0; at < text.length; ) {
    const run = matchAt(plainRun, text, at)
    if (run) {
      out.push(escapeHtml(run[0]))
      at += run[0].length
    } else at = takeMarkup(text, at, out)
  }
  return out.toString()
}

function takeMarkup(text: string, at: number, out: InlineWriter): number {
  const char = text[at] ?? ''
  const next = rules.get(char)?.(text, at, out) ?? at
  if (next > at) return next
  out.push(escapeHtml(char))
  return at + 1
}

function takeEscape(text: string, at: number, out: InlineWriter): number {
  const next = text[at + 1] ?? ''
  if (!/[!-/:-@[-`{-~]/.test(next)) return at
  out.push(escapeHtml(next))
  return at + 2
}

/** A run of backticks without its like further on is text, all of it at once. */
function takeCode(text: string, at: number, out: InlineWriter): number {
  const span = matchAt(codeSpan, text, at)
  const taken = span?.[0] ?? matchAt(backticks, text, at)?.[0] ?? ''
  out.push(span ? `<code>${escapeHtml(span[2] ?? '')}</code>` : taken)
  return at + taken.length
}

function takeEmphasis(text: string, at: number, out: InlineWriter): number {
  const [mark, element] = emphasis.find(([candidate]) => text.startsWith(candidate, at)) ?? []
  if (!mark) return at
  const before = text[at - 1] ?? ' '
  const after = text[at + mark.length] ?? ' '
  const isInsideWord = mark.includes('_') && /\w/.test(before) && /\w/.test(after)
  const place = /\s/.test(before) || isInsideWord ? undefined : out.closeMark(mark)
  if (place !== undefined) {
    out.replaceAt(place, `<${element}>`)
    out.push(`</${element}>`)
  } else if (/\s/.test(after) || isInsideWord) out.push(mark)
  else out.openMark(mark, mark)
  return at + mark.length
}

/** An image is a link to it. */
function takeImageMark(text: string, at: number): number {
  return text[at + 1] === '[' ? at + 1 : at
}

function takeLinkStart(_: string, at: number, out: InlineWriter): number {
  out.openMark('[', '[')
  return at + 1
}

function takeLinkEnd(text: string, at: number, out: InlineWriter): number {
  const end = text[at + 1] === '(' ? findAddressEnd(text, at + 2) : undefined
  const href = end === undefined ? undefined : findWebAddress(text.slice(at + 2, end))
  const place = href ? out.closeMark('[') : undefined
  if (end === undefined || !href || place === undefined) return at
  out.unlinkFrom(place)
  out.replaceAt(place, openAnchor(href), '')
  out.push('</a>', '')
  return end + 1
}

function takeAngleAddress(text: string, at: number, out: InlineWriter): number {
  const [whole, address] = matchAt(angleAddress, text, at) ?? []
  if (!whole || !address) return at
  pushAddress(address, out)
  return at + whole.length
}

function takeBareAddress(text: string, at: number, out: InlineWriter): number {
  const [whole] = matchAt(bareAddress, text, at) ?? []
  if (!whole) return at
  const address = trimAddress(whole)
  pushAddress(address, out)
  return at + address.length
}

function takeLineEnd(_: string, at: number, out: InlineWriter): number {
  out.push('<br>')
  return at + 1
}

function pushAddress(address: string, out: InlineWriter): void {
  const href = findWebAddress(address)
  const shown = escapeHtml(address)
  out.push(href ? `${openAnchor(href)}${shown}</a>` : shown, shown)
}

function openAnchor(href: string): string {
  return `<a href="${escapeHtml(href)}" rel="nofollow noopener noreferrer">`
}

/** The parenthesis that ends a link's address, others balanced. Ends early where no address goes on. */
function findAddressEnd(text: string, from: number): number | undefined {
  let depth = 0
  for (let at = from; at < Math.min(text.length, from + maxAddress); at += 1) {
    const char = text[at] ?? ''
    if (char === ')' && depth === 0) return at
    if (notInAddress.has(char)) return undefined
    depth += char === '(' ? 1 : char === ')' ? -1 : 0
  }
  return undefined
}

/** The end of a sentence is not part of the address in it. */
export function trimAddress(address: string): string {
  const bare = address.replace(/[.,;:!?*_~]{1,16}$/, '')
  return bare.endsWith(')') && !bare.includes('(') ? bare.slice(0, -1) : bare
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}
