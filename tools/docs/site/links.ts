// Rewrites links to repository files so that they work on the docs site.
import { existsSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { Token } from 'markdown-it'
import { findRepositoryUrl, readRootManifest } from '../../package/stage/publication.ts'

/** The members of a Markdown parser that this module uses, in any of its versions. */
interface LinkParser {
  readonly core: {
    readonly ruler: {
      push(name: string, rule: (state: { readonly tokens: Token[]; readonly env: object }) => void): void
    }
  }
}

interface LinkOptions {
  /** The folder of the repository. */
  readonly root: string
  /** The address of the repository for readers, without a trailing slash. Absent if package.json does not name it. */
  readonly repository?: string | undefined
}

/** Makes the repository's links work on the site: links to pages, to folders of pages, and to files that the site does not have. */
export function useRepositoryLinks(parser: LinkParser, options: LinkOptions): void {
  parser.core.ruler.push('repository_links', ({ tokens, env }) => {
    // On the site, a README is the index of its folder.
    const { relativePath = '' } = env as { readonly relativePath?: string }
    const page = `docs/${relativePath.replace(/(^|\/)index\.md$/, '$1README.md')}`
    for (const { children } of tokens) rewriteLinks(children ?? [], page, options)
  })
}

function rewriteLinks(tokens: readonly Token[], page: string, options: LinkOptions): void {
  const plainTextStack: boolean[] = []
  for (const token of tokens) {
    if (token.type === 'link_open') plainTextStack.push(rewriteLink(token, page, options))
    if (token.type === 'link_close' && plainTextStack.pop()) token.tag = 'span'
  }
}

/** Rewrites a link. Returns true if it became plain text, because the site has no target for it. */
function rewriteLink(token: Token, page: string, options: LinkOptions): boolean {
  const target = String(token.attrGet('href') ?? '')
  if (/^[a-z][a-z0-9+.-]*:|^#/i.test(target)) return false
  const [file = '', anchor] = target.split('#')
  const targetPath = posix.join(posix.dirname(page), decodeURI(file)).replace(/\/$/, '')
  const hash = anchor === undefined ? '' : `#${anchor}`
  const index = targetPath.endsWith('/README.md') ? posix.dirname(targetPath) : targetPath
  if (/^docs\/.*\.(json|svg|png|md)$/.test(targetPath) && index === targetPath) return false
  const isIndex = /^docs(\/|$)/.test(index) && existsSync(join(options.root, index, 'README.md'))
  const repositoryUrl = options.repository && `${options.repository}/blob/main/${targetPath}${hash}`
  const href = isIndex ? `${relativePath(page, index)}/index.md${hash}` : repositoryUrl
  if (href !== undefined) {
    token.attrSet('href', href)
    return false
  }
  token.tag = 'span'
  token.attrs = [
    ['class', 'repository-file'],
    ['title', `${targetPath} in the repository`],
  ]
  return true
}

function relativePath(page: string, folder: string): string {
  const path = posix.relative(posix.dirname(page), folder)
  return path.startsWith('.') ? path : `./${path}`.replace(/\/$/, '')
}

/** Reads the repository's address for browsers from `repository` in package.json. Returns undefined if package.json does not name it. */
export function readRepositoryUrl(root: string): string | undefined {
  const url = findRepositoryUrl(readRootManifest(root))
  if (url === undefined) return undefined
  const shorthand = /^(?:github:)?([\w.-]+\/[\w.-]+)$/.exec(url)?.[1]
  return shorthand === undefined
    ? url
        .replace(/^git\+/, '')
        .replace(/^git@([^:]+):/, 'https://$1/')
        .replace(/\.git$/, '')
    : `https://github.com/${shorthand}`
}
