import { decodeEntities } from '@postern/core'
import type { HtmlToken } from '../../html/tokens.ts'
import { readHtml } from '../../html/tokens.ts'

/** A line of text as a reader sees it. */
interface VisibleLine {
  readonly text: string
  /** Line ends since the line before. */
  readonly breaks: number
  /** List items that begin here. */
  readonly marks: number
}

/** Lines that end before and after an element. */
const breaks: ReadonlyMap<string, number> = new Map([
  ['br', 1],
  ['li', 1],
  ...'p ul ol blockquote pre h1 h2 h3 h4 h5 h6'.split(' ').map(name => [name, 2] as const),
])

/** The lines of HTML that holds known elements only; those without text are passed over. */
export function* readVisibleLines(html: string): Generator<VisibleLine> {
  const pieces: string[] = []
  const since = { breaks: 0, marks: 0 }
  let verbatim = 0
  for (const token of readLineTokens(html)) {
    if (token.kind === 'text') {
      pieces.push(decodeEntities(token.text))
      continue
    }
    const text = readLine(pieces.splice(0), verbatim > 0)
    if (text) yield takeLine(text, since)
    noteBreak(token, since)
    if (token.name === 'pre') verbatim += token.kind === 'open' ? 1 : -1
  }
  const text = readLine(pieces, false)
  if (text) yield takeLine(text, since)
}

/** Without elements within lines. */
function* readLineTokens(html: string): Generator<HtmlToken> {
  for (const token of readHtml(html)) if (token.kind === 'text' || breaks.has(token.name)) yield token
}

interface Since {
  breaks: number
  marks: number
}

/** Browsers show one space for many, and none at the ends. */
function readLine(pieces: readonly string[], isVerbatim: boolean): string {
  const text = pieces.join('')
  return isVerbatim ? text : text.replace(/[ \t\n\r\f]+/g, ' ').trim()
}

function takeLine(text: string, since: Since): VisibleLine {
  const line = { text, ...since }
  Object.assign(since, { breaks: 0, marks: 0 })
  return line
}

function noteBreak({ kind, name }: Exclude<HtmlToken, { kind: 'text' }>, since: Since): void {
  if (name === 'br') since.breaks += 1
  else since.breaks = Math.max(since.breaks, breaks.get(name) ?? 0)
  if (name === 'li' && kind === 'open') since.marks += 1
}
