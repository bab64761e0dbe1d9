import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A Markdown file of the repository. */
export interface MarkdownPage {
  /** From the root of the repository, with `/`. */
  readonly path: string
  readonly text: string
}

/** What others wrote, and what a program wrote from the commits. */
const isForeign = (path: string) => path.startsWith('fixtures/') || path === 'CHANGELOG.md'

/** Every Markdown file that git tracks or would track, but for what is not ours. */
export function readMarkdownPages(root: string): readonly MarkdownPage[] {
  return listRepositoryFiles(root)
    .filter(path => path.endsWith('.md') && !isForeign(path))
    .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/** Paths from the root of the repository. */
export function listRepositoryFiles(root: string): readonly string[] {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  return [...new Set(listed.split('\n'))].filter(path => path && existsSync(join(root, path)))
}
