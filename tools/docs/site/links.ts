import { existsSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { Token } from 'markdown-it'
import { findRepositoryUrl, readRootManifest } from '../../package/stage/publication.ts'

/** What this needs of a Markdown parser of any version. */
interface LinkParser {
  readonly core: {
    readonly ruler: {
      push(name: string, rule: (state: { readonly tokens: Token[]; readonly env: object }) => void): void
    }
  }
}

interface LinkOptions {
  /** Folder of the repository. */
  readonly root: string
  /** Where the repository can be read, without a slash at the end; unknown as long as package.json does not say it. */
  readonly repository?: string | undefined
}

/** Lets links of the repository work in the site: pages, folders of pages, and files that the site does not have. */
export function useRepositoryLinks(parser: LinkParser, options: LinkOptions): void {
  parser.core.ruler.push('repository_links', ({ tokens, env }) => {
    // The site knows a README as the index of its folder.
    const { relativePath = '' } = env as { readonly relativePath?: string }
    const page = `docs/${relativePath.replace(/(^|\/)index\.md$/, '$1README.md')}`
    for (const { children } of tokens) rewriteLinks(children ?? [], page, options)
  })
}

function rewriteLinks(tokens: readonly Token[], page: string, options: LinkOptions): void {
  const opened: boolean[] = []
  for (const token of tokens) {
    if (token.type === 'link_open') opened.push(rewriteLink(token, page, options))
    if (token.type === 'link_close' && opened.pop()) token.tag = 'span'
  }
}

/** Returns whether the link became plain text, because the site has nothing to lead to. */
function rewriteLink(token: Token, page: string, options: LinkOptions): boolean {
  const target = String(token.attrGet('href') ?? '')
  if (/^[a-z][a-z0-9+.-]*:|^#/i.test(target)) return false
  const [file = '', anchor] = target.split('#')
  const place = posix.join(posix.dirname(page), decodeURI(file)).replace(/\/$/, '')
  const hash = anchor === undefined ? '' : `#${anchor}`
  const index = place.endsWith('/README.md') ? posix.dirname(place) : place
  if (/^docs\/.*\.(json|svg|png|md)$/.test(place) && index === place) return false
  const isIndex = /^docs(\/|$)/.test(index) && existsSync(join(options.root, index, 'README.md'))
  const inRepository = options.repository && `${options.repository}/blob/main/${place}${hash}`
  const href = isIndex ? `${relate(page, index)}/index.md${hash}` : inRepository
  if (href !== undefined) {
    token.attrSet('href', href)
    return false
  }
  token.tag = 'span'
  token.attrs = [
    ['class', 'repository-file'],
    ['title', `${place} in the repository`],
  ]
  return true
}

function relate(page: string, folder: string): string {
  const path = posix.relative(posix.dirname(page), folder)
  return path.startsWith('.') ? path : `./${path}`.replace(/\/$/, '')
}

/** Where the repository can be read in a browser, by `repository` of package.json; absent as long as that does not say it. */
export function readRepositoryUrl(root: string): string | undefined {
  const url = findRepositoryUrl(readRootManifest(root))
  if (url === undefined) return undefined
  const short = /^(?:github:)?([\w.-]+\/[\w.-]+)$/.exec(url)?.[1]
  return short === undefined
    ? url
        .replace(/^git\+/, '')
        .replace(/^git@([^:]+):/, 'https://$1/')
        .replace(/\.git$/, '')
    : `https://github.com/${short}`
}
