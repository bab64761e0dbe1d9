// Reads the sections of the docs site and the order of their pages from READMEs.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { listLinks } from '../links/check-links.ts'
import { readPassages, restoreCodes } from '../prose/passages.ts'

/** A folder of docs/ that the site lists. */
export interface Section {
  readonly title: string
  readonly folder: string
  /** The path of its first page below docs/, without `.md`; absent if the folder has no README.md. */
  readonly index?: string
  readonly groups: readonly PageGroup[]
}

interface PageGroup {
  /** The heading in the README above the links to these pages; empty for links before the first heading. */
  readonly title: string
  readonly pages: readonly ListedPage[]
}

interface ListedPage {
  readonly title: string
  /** The path below docs/, with `.md`. */
  readonly path: string
}

export function pagesOf({ groups }: Section): readonly ListedPage[] {
  return groups.flatMap(({ pages }) => pages)
}

/** The folders of docs/ that the site lists, in order. */
const folders: Readonly<Record<string, string>> = {
  start: 'Start',
  guides: 'Guides',
  reference: 'Reference',
  explanation: 'Explanation',
  conformance: 'Conformance',
  decisions: 'Decisions',
}

/**
 * Reads the sections of the site. The links in a folder's README.md determine its pages, their order and their headings. A folder without a
 * README.md lists its files by name.
 */
export function readSections(docs: string): readonly Section[] {
  return Object.entries(folders)
    .filter(([folder]) => existsSync(join(docs, folder)))
    .map(([folder, title]) => readSection(docs, folder, title))
}

function readSection(docs: string, folder: string, title: string): Section {
  const readme = `${folder}/README.md`
  if (existsSync(join(docs, readme))) return { title, folder, index: `${folder}/`, groups: readGroups(docs, readme) }
  const pages = globSync('*.md', { cwd: join(docs, folder) }).sort()
  return { title, folder, groups: [{ title: '', pages: pages.map(name => readPage(docs, `${folder}/${name}`)) }] }
}

/** Reads the pages that a README links, grouped by the headings above the links. */
function readGroups(docs: string, readme: string): readonly PageGroup[] {
  const text = readFileSync(join(docs, readme), 'utf8')
  const headings = readPassages(text).filter(({ kind, level }) => kind === 'heading' && level > 1)
  const groups = [{ title: '', line: 0 }, ...headings.map(({ text: title, line }) => ({ title, line }))]
  const listedPaths = new Set<string>()
  return groups
    .map(({ title, line }, index) => {
      const endLine = groups[index + 1]?.line ?? Number.POSITIVE_INFINITY
      const paths = listLinks(text)
        .filter(link => link.line > line && link.line < endLine)
        .map(({ target }) => posix.join(posix.dirname(readme), target.replace(/#.*$/, '')))
      const groupPaths = paths.filter(
        path => isPageOf(docs, readme, path) && !listedPaths.has(path) && listedPaths.add(path),
      )
      return { title, pages: groupPaths.map(path => readPage(docs, path)) }
    })
    .filter(({ pages }) => pages.length > 0)
}

function isPageOf(docs: string, readme: string, path: string): boolean {
  return path.startsWith(`${posix.dirname(readme)}/`) && /(?<!README)\.md$/.test(path) && existsSync(join(docs, path))
}

function readPage(docs: string, path: string): ListedPage {
  return { path, title: readTitle(readFileSync(join(docs, path), 'utf8')) ?? path }
}

/** Reads the first heading of a page, as plain text. */
function readTitle(markdown: string): string | undefined {
  const heading = readPassages(markdown).find(({ kind }) => kind === 'heading')
  return heading && restoreCodes(heading.text, heading.codes).replaceAll('`', '')
}

/** Finds pages that their folder's README does not link, and pages outside of the site's folders. */
export function findOrphans(docs: string, isExempt: (path: string) => boolean): readonly string[] {
  const listedPages = new Set(
    readSections(docs)
      .flatMap(pagesOf)
      .map(({ path }) => path),
  )
  return globSync('**/*.md', { cwd: docs, exclude: name => /^(\.vitepress|node_modules)$/.test(name) })
    .map(path => path.replaceAll('\\', '/'))
    .filter(path => !listedPages.has(path) && !/^(\w+\/)?README\.md$/.test(path) && !isExempt(`docs/${path}`))
    .sort()
    .map(
      path =>
        `docs/${path}:1  orphan  "${readTitle(readFileSync(join(docs, path), 'utf8')) ?? path}"  (${adviceFor(path)})`,
    )
}

function adviceFor(path: string): string {
  const [folder = ''] = path.split('/')
  return folder in folders
    ? `link it in docs/${folder}/README.md, where the sidebar takes its pages from`
    : `move it into one of ${Object.keys(folders).join(', ')}`
}
