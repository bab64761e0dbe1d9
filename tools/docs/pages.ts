// Lists the Markdown pages and files of the repository.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A Markdown file of the repository. */
export interface MarkdownPage {
  /** The path from the root of the repository, with `/`. */
  readonly path: string
  readonly text: string
}

/** Returns true for pages that we did not write: foreign fixtures, and the changelog, which is generated from commits. */
const isForeign = (path: string) => path.startsWith('fixtures/') || path === 'CHANGELOG.md'

/** Reads all Markdown files of ours that git tracks or would track. */
export function readMarkdownPages(root: string): readonly MarkdownPage[] {
  return listRepositoryFiles(root)
    .filter(path => path.endsWith('.md') && !isForeign(path))
    .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/** Returns the paths of all files from the root of the repository. */
export function listRepositoryFiles(root: string): readonly string[] {
  const listing = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  return [...new Set(listing.split('\n'))].filter(path => path && existsSync(join(root, path)))
}
