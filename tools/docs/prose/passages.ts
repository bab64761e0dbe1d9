// Reads the paragraphs, headings and cells of a Markdown page.
import type { Token } from 'markdown-it'
import MarkdownIt from 'markdown-it'

/** A unit of prose: a paragraph, a heading or a cell. */
export interface Passage {
  readonly kind: 'text' | 'heading' | 'cell'
  /** The level of a heading, 1 to 6, and otherwise 0. */
  readonly level: number
  /** The first line of the passage in the file, from 1. */
  readonly line: number
  /** The text of the passage. Line breaks remain, and a character of Unicode's private use area replaces each code span. */
  readonly text: string
  /** The code spans, in the order of the characters that replace them. */
  readonly codes: readonly string[]
  /** The HTML tags of the passage, exactly as written. */
  readonly tags: readonly string[]
}

const firstCode = 0xe000
const parser = new MarkdownIt({ html: true })

/** Reads the prose of a Markdown file. Code, HTML, front matter and quotations (`>`) are not our prose. */
export function readPassages(markdown: string): readonly Passage[] {
  const passages: Passage[] = []
  const openTags: string[] = []
  let line = 1
  for (const token of parser.parse(blankFrontMatter(markdown), {})) {
    if (token.map) line = token.map[0] + 1
    if (token.nesting === 1) openTags.push(token.tag)
    if (token.nesting === -1) openTags.pop()
    if (token.type === 'inline' && !openTags.includes('blockquote'))
      passages.push({ ...describeTag(openTags.at(-1) ?? ''), line, ...readInline(token.children ?? []) })
  }
  return passages.filter(({ text }) => text.trim() !== '')
}

/** Puts the code spans back into a text. */
export function restoreCodes(text: string, codes: readonly string[]): string {
  return text.replace(/[\uE000-\uF8FF]/g, character => `\`${codes[character.charCodeAt(0) - firstCode] ?? ''}\``)
}

/** Replaces the front matter with empty lines, so that lines keep their numbers. */
export function blankFrontMatter(markdown: string): string {
  return markdown.replace(/^---\n[\s\S]*?\n---\n/, head => head.replace(/[^\n]/g, ''))
}

function describeTag(tag: string): Pick<Passage, 'kind' | 'level'> {
  if (/^h\d$/.test(tag)) return { kind: 'heading', level: Number(tag[1]) }
  return { kind: tag === 'td' || tag === 'th' ? 'cell' : 'text', level: 0 }
}

function readInline(tokens: readonly Token[]): Pick<Passage, 'text' | 'codes' | 'tags'> {
  const codes: string[] = []
  const tags = tokens.filter(({ type }) => type === 'html_inline').map(({ content }) => content)
  const text = tokens.map(({ type, content }) => {
    if (type === 'text') return content
    if (type === 'softbreak' || type === 'hardbreak') return '\n'
    if (type !== 'code_inline') return ''
    codes.push(content)
    return String.fromCharCode(firstCode + codes.length - 1)
  })
  return { text: text.join(''), codes, tags }
}
