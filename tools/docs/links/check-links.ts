// Finds relative links and anchors in Markdown that have no target.
import { posix } from 'node:path'
import type { Token } from 'markdown-it'
import MarkdownIt from 'markdown-it'
import type { MarkdownPage } from '../pages.ts'
import { blankFrontMatter, readPassages } from '../prose/passages.ts'

interface FoundLink {
  readonly line: number
  readonly target: string
}

/** Pages that are published at another path: the README of the npm package is in its root folder. */
const publishedPaths: Readonly<Record<string, string>> = { 'apps/gateway/bin/README.md': 'README.md' }

const parser = new MarkdownIt({ html: true })

/** Finds relative links and pictures without a target, and anchors without a heading. `files` contains all files of the repository. */
export function checkLinks(pages: readonly MarkdownPage[], files: readonly string[]): readonly string[] {
  const existingPaths = new Set(files.flatMap(file => [file, ...listFolders(file)]))
  const anchors = new Map(pages.map(({ path, text }) => [path, listAnchors(text)]))
  return pages.flatMap(({ path, text }) =>
    listLinks(text).flatMap(({ line, target }) => {
      const fault = findLinkFault(publishedPaths[path] ?? path, target, { existingPaths, anchors })
      return fault === undefined ? [] : [`${path}:${line}  link  "${target}"  (${fault})`]
    }),
  )
}

interface KnownTargets {
  readonly existingPaths: ReadonlySet<string>
  readonly anchors: ReadonlyMap<string, ReadonlySet<string>>
}

function findLinkFault(path: string, target: string, { existingPaths, anchors }: KnownTargets): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return undefined
  const [file = '', anchor] = target.split('#')
  if (file.startsWith('/')) return 'write a path relative to the page: the repository has no such root'
  const linkTarget = file === '' ? path : posix.join(posix.dirname(path), decodeURI(file)).replace(/\/$/, '')
  if (linkTarget.startsWith('..')) return 'it leaves the repository'
  if (linkTarget !== '.' && !existingPaths.has(linkTarget)) return `${linkTarget} is not there`
  if (anchor === undefined || !linkTarget.endsWith('.md')) return undefined
  const headings = anchors.get(linkTarget)
  return !headings || headings.has(decodeURIComponent(anchor)) ? undefined : `${linkTarget} has no heading for it`
}

/** Returns the links and pictures of a page, in Markdown or as HTML. */
export function listLinks(markdown: string): readonly FoundLink[] {
  const links: FoundLink[] = []
  let line = 1
  const visit = (token: Token) => {
    if (token.type === 'softbreak') line += 1
    for (const target of listTargets(token)) links.push({ line, target })
    token.children?.forEach(visit)
  }
  for (const token of parser.parse(blankFrontMatter(markdown), {})) {
    if (token.map) line = token.map[0] + 1
    visit(token)
  }
  return links
}

function listTargets({ type, content, attrs }: Token): readonly string[] {
  if (/^html/.test(type))
    return [...content.matchAll(/\b(?:href|src|srcset)="([^"]+)"/g)].map(([, target = '']) => target)
  return (attrs ?? []).filter(([name]) => name === 'href' || name === 'src').map(([, target]) => String(target))
}

function listFolders(file: string): readonly string[] {
  const folder = posix.dirname(file)
  return folder === '.' ? [] : [folder, ...listFolders(folder)]
}

/** Lists the anchors of a page: its headings, as GitHub and the site create them, and ids in HTML. */
export function listAnchors(markdown: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  for (const { kind, text, codes } of readPassages(markdown)) {
    if (kind !== 'heading') continue
    const anchor = slugify(text.replace(/[\uE000-\uF8FF]/g, character => codes[character.charCodeAt(0) - 0xe000] ?? ''))
    let uniqueAnchor = anchor
    for (let count = 1; anchors.has(uniqueAnchor); count += 1) uniqueAnchor = `${anchor}-${count}`
    anchors.add(uniqueAnchor)
  }
  for (const [, id = ''] of markdown.matchAll(/<[a-z][^>]*\b(?:id|name)="([^"]+)"/g)) anchors.add(id)
  return anchors
}

/** Returns the anchor of a heading in GitHub's form, which the site uses, too. */
export function slugify(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}
