// Writes llms.txt and the plain Markdown pages of the docs site.
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { blankFrontMatter, readPassages, restoreCodes } from '../prose/passages.ts'
import type { Section } from './sections.ts'
import { pagesOf } from './sections.ts'

interface ExtraFileOptions {
  readonly root: string
  readonly outDir: string
  readonly sections: readonly Section[]
}

/** Writes the files for programs: llms.txt, llms-full.txt, each page as Markdown, and the JSON files of docs/reference. */
export function writeExtraFiles({ root, outDir, sections }: ExtraFileOptions): void {
  const docs = join(root, 'docs')
  const pages = sections.flatMap(pagesOf)
  for (const path of [...pages.map(page => page.path), ...globSync('reference/*.json', { cwd: docs })]) {
    mkdirSync(dirname(join(outDir, path)), { recursive: true })
    cpSync(join(docs, path), join(outDir, path))
  }
  const readDocsFile = (path: string) => readFileSync(join(docs, path), 'utf8')
  writeFileSync(join(outDir, 'llms.txt'), listForModels(sections, readDocsFile))
  writeFileSync(join(outDir, 'llms-full.txt'), joinForModels(sections, readDocsFile))
}

type ReadPage = (path: string) => string

/** Lists the pages in the format of https://llmstxt.org: a title, a summary, and a list of pages for each section. */
export function listForModels(sections: readonly Section[], readPage: ReadPage): string {
  const parts = sections.map(section => {
    const { title } = section
    const lines = pagesOf(section).map(({ path, title: name }) => `- [${name}](/${path}): ${summarize(readPage(path))}`)
    return `## ${recordFolders.has(title) ? 'Optional: ' : ''}${title}\n\n${lines.join('\n')}`
  })
  return `${[intro, ...parts].join('\n\n')}\n`
}

const intro = `# Postern

> Postern is a gateway that gives an agent one address, \`@agent@domain\`, which ActivityPub, A2A, email and a web chat reach. It checks the proof of every sender.

/llms-full.txt has the pages of Start, Guides, Explanation and Reference in one file.`

/** Long folders that are useful only to developers of the gateway itself. */
const recordFolders: ReadonlySet<string> = new Set(['Conformance', 'Decisions'])

export function joinForModels(sections: readonly Section[], readPage: ReadPage): string {
  const texts = sections
    .filter(({ title }) => !recordFolders.has(title))
    .flatMap(pagesOf)
    .map(({ path }) => `<!-- ${path} -->\n\n${blankFrontMatter(readPage(path)).trim()}`)
  return `${texts.join('\n\n')}\n`
}

/** Returns the first sentence of a page. */
function summarize(markdown: string): string {
  const first = readPassages(markdown).find(({ kind }) => kind === 'text')
  if (!first) return ''
  const flat = first.text.replace(/\s+/g, ' ')
  return restoreCodes(/^.*?[.!?:](?=\s|$)/.exec(flat)?.[0] ?? flat, first.codes)
}
