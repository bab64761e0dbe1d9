// Lists the code blocks of the README and the docs.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A fenced code block of the README or of a page of the docs. */
export interface CodeBlock {
  /** The path from the root of the repository, such as `docs/guides/model.md`. */
  readonly page: string
  /** The number of its first line of code. */
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

/** Lists the blocks of one page. */
export function* listBlocks(page: string, text: string): Generator<CodeBlock> {
  for (const { index, groups } of text.matchAll(
    /^(?<indent> *)```(?<language>\w+)[^\n]*\n(?<code>[\s\S]*?)^\k<indent>```$/gm,
  )) {
    const line = text.slice(0, index).split('\n').length + 1
    yield { page, line, language: groups?.language ?? '', code: groups?.code ?? '' }
  }
}

/** Finds the one block of a page that contains `mark`. @throws Error if there is none, or there are several */
export function findBlock([page, mark]: readonly [page: string, mark: string, ...rest: unknown[]]): CodeBlock {
  const [block, ...otherBlocks] = readCodeBlocks().filter(block => block.page === page && block.code.includes(mark))
  if (!block || otherBlocks.length > 0)
    throw new Error(`${page}: ${otherBlocks.length + (block ? 1 : 0)} code blocks have "${mark}"`)
  return block
}

/** Returns true if `guides.test.ts` checks a block because of its language, although no list names it. */
export const isCheckedByLanguage = ({ page, language }: CodeBlock) =>
  /^docs\/(start|guides)\//.test(page) && /^(ts|json|jsonc|sh|python)$/.test(language)
