// Finds calls of the store's operations whose result nobody uses. Without `yield*`, an operation does nothing, and no compiler says so.
import type { SourceFile } from './source-files.ts'
import { isTestFile } from './source-files.ts'

/** Matches the files of the store, without those that implement an engine or copy its files. */
const storeCode = /^packages\/store\/src\/(?!postgres\/|sqlite\/|backup\/)/

/** The members of a statement that return an operation. `run` returns none. */
const queryMembers = ['get', 'all', 'change']

const generatorPattern = /\bfunction\* ([\w$]+)|^\s+\*([\w$]+)\(/gm
const plainPattern =
  /\bfunction ([\w$]+)\(|^\s+(?:async )?([\w$]+)\([^\n]*\{$|^\s+([\w$]+)(?:: (?:async )?(?:\(|\w+ =>)|,$)/gm
/** Names of operations that collections and promises have, too. */
const builtInMembers = ['add', 'delete', 'resolve']

/** Matches a statement that is only a call, also after a condition or `void`. Signatures of interfaces have a type after their parameters. */
const callPattern = /^\s*(?:(?:if|for) \(.*\) |else )?(?:await |void )?(?:[\w$]+\??\.)*([\w$]+)\((?!.*\)\??: )/

/**
 * Finds statements of the store that only call an operation. Names that other functions have, too, are skipped, because the text alone does not tell
 * which one is called.
 */
export function findIdleOperations(files: readonly SourceFile[]): readonly string[] {
  const storeFiles = files.filter(({ path }) => storeCode.test(path) && !isTestFile(path))
  const operations = new Set([...queryMembers, ...storeFiles.flatMap(({ text }) => listNames(text, generatorPattern))])
  const otherNames = [...builtInMembers, ...storeFiles.flatMap(({ text }) => listNames(text, plainPattern))]
  for (const name of otherNames) operations.delete(name)
  return storeFiles.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index, lines) => {
      const [, name] = callPattern.exec(line) ?? []
      if (!name || !operations.has(name) || !beginsStatement(lines, index) || isSignature(lines, index)) return []
      return `${path}:${index + 1} ${name}() runs only with yield*`
    }),
  )
}

function listNames(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(match => match.slice(1).find(Boolean) ?? '')
}

/** Returns true for the signature of an interface that spans several lines. */
function isSignature(lines: readonly string[], index: number): boolean {
  const indent = /^\s*/.exec(lines[index] ?? '')?.[0] ?? ''
  const lastLine = lines.slice(index + 1).find(line => line.startsWith(`${indent})`))
  return lines[index]?.endsWith('(') === true && lastLine?.startsWith(`${indent}): `) === true
}

/** Returns true unless the line continues an expression of the line before it. */
function beginsStatement(lines: readonly string[], index: number): boolean {
  const previousLine = lines[index - 1]?.trim() ?? ''
  return !/(?:[=(,[?:+|&]|=>|yield\*|return)$/.test(previousLine)
}
