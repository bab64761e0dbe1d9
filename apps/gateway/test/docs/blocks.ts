import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A fenced code block of the README or of a page of the docs. */
export interface CodeBlock {
  /** From the root of the repository: `docs/guides/model.md`. */
  readonly page: string
  /** Where its first line of code stands. */
  readonly line: number
  readonly language: string
  readonly code: string
}

const root = join(import.meta.dirname, '../../../..')

const folders = 'docs/{*,{start,guides,explanation,reference,conformance,decisions}/**/*}.md'
const pages = ['README.md', ...globSync(folders, { cwd: root }).toSorted()]

export function readCodeBlocks(): readonly CodeBlock[] {
  return pages.flatMap(page => [...listBlocks(page, readFileSync(join(root, page), 'utf8'))])
}

function* listBlocks(page: string, text: string): Generator<CodeBlock> {
  for (const { index, groups } of text.matchAll(
    /^(?<indent> *)```(?<language>\w+)[^\n]*\n(?<code>[\s\S]*?)^\k<indent>```$/gm,
  )) {
    const line = text.slice(0, index).split('\n').length + 1
    yield { page, line, language: groups?.language ?? '', code: groups?.code ?? '' }
  }
}

/** The one block of a page that has `mark` in it. @throws Error when there is none, or there are several */
export function findBlock([page, mark]: readonly [page: string, mark: string, ...rest: unknown[]]): CodeBlock {
  const [found, ...others] = readCodeBlocks().filter(block => block.page === page && block.code.includes(mark))
  if (!found || others.length > 0)
    throw new Error(`${page}: ${others.length + (found ? 1 : 0)} code blocks have "${mark}"`)
  return found
}

/** Whether `guides.test.ts` checks a block, by its language, although no list names it. */
export const isCheckedByLanguage = ({ page, language }: CodeBlock) =>
  /^docs\/(start|guides)\//.test(page) && /^(ts|json|jsonc|sh|python)$/.test(language)
