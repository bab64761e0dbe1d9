import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where the repository can be read in a browser, by `repository` of package.json; absent as long as that does not say it. */
export function readRepositoryUrl(root: string): string | undefined {
  const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly repository?: string | { readonly url?: string }
  }
  const url = typeof repository === 'string' ? repository : repository?.url
  if (url === undefined) return undefined
  const short = /^(?:github:)?([\w.-]+\/[\w.-]+)$/.exec(url)?.[1]
  return short === undefined
    ? url
        .replace(/^git\+/, '')
        .replace(/^git@([^:]+):/, 'https://$1/')
        .replace(/\.git$/, '')
    : `https://github.com/${short}`
}
