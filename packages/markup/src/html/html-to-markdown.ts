// Writes HTML as Markdown, for readers that show Markdown.

import { htmlToText } from './html-to-text.ts'
import type { WriteMark } from './inline-marks.ts'
import type { TextSyntax } from './link-writer.ts'

/** Creates a mark that surrounds words. Blanks stay outside the signs (CommonMark §6.2). */
function createMark(sign: string): WriteMark {
  return text => {
    const trimmedText = text.trim()
    if (trimmedText === '' || trimmedText.includes('\n')) return text
    const start = text.indexOf(trimmedText)
    return text.slice(0, start) + sign + trimmedText + sign + text.slice(start + trimmedText.length)
  }
}

/** Returns a run of backticks that does not occur in the code. */
function fenceFor(code: string, minLength: number): string {
  const longestRun = Math.max(0, ...(code.match(/`+/g) ?? []).map(run => run.length))
  return '`'.repeat(Math.max(minLength, longestRun + 1))
}

const writeCodeSpan: WriteMark = text => {
  if (text.includes('\n')) return text
  const fence = fenceFor(text, 1)
  return fence.length > 1 ? `${fence} ${text} ${fence}` : `${fence}${text}${fence}`
}

const writeCodeBlock: WriteMark = text => {
  const fence = fenceFor(text, 3)
  return `${fence}\n${text.replace(/^\n+|\n+$/g, '')}\n${fence}`
}

const syntax: TextSyntax = {
  headings: new Map([1, 2, 3, 4, 5, 6].map(level => [`h${level}`, `${'#'.repeat(level)} `])),
  marks: new Map([
    ...['strong', 'b'].map(name => [name, createMark('**')] as const),
    ...['em', 'i'].map(name => [name, createMark('*')] as const),
    ['code', writeCodeSpan],
    ['pre', writeCodeBlock],
  ]),
  escape: text => text.replace(/[\\`*_[\]<>~]/g, '\\$&'),
  link: (label, href) => `[${label.trim()}](${writeAddress(href)})`,
  picture(text, src, inLink) {
    const label = text.replace(/[[\]\\]/g, '\\$&')
    const isShown = !inLink && /^https?:/i.test(src ?? '')
    return isShown ? `![${label}](${writeAddress(src ?? '')})` : inLink ? label : `\\[${label}\\]`
  },
}

/** Encodes brackets and blanks, which would end the address (CommonMark §6.3). */
function writeAddress(href: string): string {
  return href.replace(/[()\s<>]/g, sign => `%${sign.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`)
}

/** Converts HTML to Markdown: headings, lists, quotes, links, emphasis and code. Hidden text is left out. The conversion takes linear time. */
export function htmlToMarkdown(html: string): string {
  return htmlToText(html, { syntax }).text
}
