// Finds functions of more than 60 lines.
import type { SourceFile } from './source-files.ts'
import { isTestFile } from './source-files.ts'

const maxLines = 60

/** Matches the beginning of blocks that are not functions. */
const otherBlock = /^(?:\} )?(?:if|for|while|switch|catch|else|try|do|finally|with|class|interface|namespace)\b/
const method = /^(?:(?:async|get|set|static) )*\*?[#\w$[\].]+\??(?:<.*>)?\(.*\)(?:: .+)? \{$/
const namePattern = /function\*? ([\w$]+)|(?:const|let) ([\w$]+)|^(?:(?:async|get|set|static) )*([#\w$]+)[(<:]/

/**
 * Finds functions that are too long to survey at a glance, methods and nested functions included, except in tests. A formatter indents all
 * code, so a block ends at the first closing bracket with the indentation of its first line.
 */
export function findLongFunctions(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ path }) => !isTestFile(path))
    .flatMap(({ path, text }) =>
      measureFunctions(text)
        .filter(({ lines }) => lines > maxLines)
        .map(({ name, line, lines }) => `${path}:${line} ${name} has ${lines} lines; at most ${maxLines}`),
    )
}

interface MeasuredFunction {
  readonly name: string
  /** The first line of the function, from 1. */
  readonly line: number
  readonly lines: number
}

function measureFunctions(text: string): readonly MeasuredFunction[] {
  const lines = text.split('\n')
  return lines.flatMap((line, index) => {
    if (!/[{([]$|=>$/.test(line)) return []
    const firstLine = findHeader(lines, index)
    const header = lines
      .slice(firstLine, index + 1)
      .map(part => part.trim())
      .join(' ')
    if (!isFunctionHeader(header)) return []
    const lastLine = findEnd(lines, index)
    return [
      {
        name: namePattern.exec(header)?.slice(1).find(Boolean) ?? '',
        line: firstLine + 1,
        lines: lastLine - firstLine + 1,
      },
    ]
  })
}

/** Finds the first line of a header that spans several lines and ends at `index`. */
function findHeader(lines: readonly string[], index: number): number {
  let first = index
  while (first > 0 && /^\s*[)}\]]/.test(lines[first] ?? '')) {
    const indent = indentOf(lines[index])
    first -= 1
    while (first > 0 && (lines[first] === '' || indentOf(lines[first]) > indent)) first -= 1
  }
  return first
}

function isFunctionHeader(header: string): boolean {
  if (/=>(?: [({[]+)?$/.test(header)) return true
  if (!header.endsWith('{') || otherBlock.test(header)) return false
  return /\bfunction\b/.test(header) || method.test(header)
}

function findEnd(lines: readonly string[], index: number): number {
  const indent = indentOf(lines[index])
  const length = lines.slice(index + 1).findIndex(line => line !== '' && indentOf(line) <= indent)
  if (length < 0) return lines.length - 1
  const endLine = index + 1 + length
  return /^\s*[)}\]]/.test(lines[endLine] ?? '') ? endLine : endLine - 1
}

function indentOf(line = ''): number {
  return line.length - line.trimStart().length
}
