// Imports a module of the operator and reports load errors with file, line and column.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { extname, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { ConfigError } from '@postern/message'
import { importOperatorModule, isImported, listOperatorModules } from './operator-modules.ts'

/** A relative or absolute path to a file that runs without a build. */
export const modulePathPattern = /^(?:\.{1,2}\/|\/).*\.(?:ts|mts|js|mjs)$/

/** Loads one of the operator's modules. A relative `path` starts from `baseDir`. @throws ConfigError naming `key` */
export async function importModule(path: string, key: string, baseDir: string): Promise<unknown> {
  const file = resolve(baseDir, path)
  const { href: url } = pathToFileURL(file)
  if (!isImported(url) && !existsSync(file))
    throw new ConfigError(key, `"${path}" cannot be loaded: there is no file ${file}`, 'Correct the path.')
  try {
    return await importOperatorModule(url)
  } catch (error) {
    const { problem, fix = `Check that ${file} exists and runs by itself: node ${file}` } = describeLoadFault(
      error,
      baseDir,
    )
    throw new ConfigError(key, `"${path}" cannot be loaded: ${problem}`, fix, { cause: error })
  }
}

interface SourceLocation {
  readonly file: string
  readonly line: number
  /** The column, from 1; absent if the runtime does not report it. */
  readonly column: number | undefined
}

interface LoadFault {
  /** The fault, with file, line and column if they are known. */
  readonly problem: string
  /** The fix; absent if `problem` says everything. */
  readonly fix?: string
}

/** Describes why one of the operator's files could not be loaded. Paths are relative to `baseDir`. */
export function describeLoadFault(error: unknown, baseDir: string): LoadFault {
  const reason = error instanceof Error ? error.message : String(error)
  const location = error instanceof Error ? findLocation(error) : undefined
  if (!location) return { problem: reason }
  const file = relative(baseDir, location.file)
  const position = [file, location.line, location.column].filter(part => part !== undefined).join(':')
  if (!(error instanceof SyntaxError)) return { problem: `${reason} (thrown at ${position})` }
  const command = extname(file).endsWith('ts') ? `npx tsc --noEmit ${file}` : `node --check ${file}`
  return { problem: `${position} has a syntax error (${reason})`, fix: `Correct the line; ${command} shows it.` }
}

function findLocation(error: Error): SourceLocation | undefined {
  const stack = error.stack ?? ''
  return readHeader(stack) ?? (error instanceof SyntaxError ? findSyntaxError() : readFrame(stack))
}

/**
 * Reads the header with which the runtime begins a stack if it knows the position: `file:///x.ts:3`, the line of source and a caret below
 * it.
 */
function readHeader(text: string, file?: string): SourceLocation | undefined {
  const [header = '', ...linesBelow] = text.split('\n', 8)
  const match = /^(?<file>file:\/\/.+|\/.+|\[stdin\]):(?<line>\d+)$/.exec(header)?.groups
  if (!match?.file) return
  return { file: file ?? toPath(match.file), line: Number(match.line), column: readCaret(linesBelow) }
}

/** Reads the column from the caret below the source, of which the runtime shows one line or more. */
function readCaret(lines: readonly string[]): number | undefined {
  const caretLine = lines.find(line => /^ *\^+ *$/.test(line))
  return caretLine === undefined ? undefined : caretLine.indexOf('^') + 1
}

/** Reads the first frame of a stack in one of the operator's files. */
function readFrame(stack: string): SourceLocation | undefined {
  const operatorModules = new Set(listOperatorModules())
  for (const [, file = '', line, column] of stack.matchAll(/(file:\/\/[^\s()]+):(\d+):(\d+)/g)) {
    if (operatorModules.has(file)) return { file: toPath(file), line: Number(line), column: Number(column) }
  }
  return undefined
}

/** Finds a syntax error by compiling each file separately, because the runtime does not name the faulty line of a plain ECMAScript module. */
function findSyntaxError(): SourceLocation | undefined {
  for (const file of listOperatorModules().map(toPath)) {
    if (!['.js', '.mjs'].includes(extname(file)) || !existsSync(file)) continue
    const { status, stderr } = spawnSync(process.execPath, ['--check', '--input-type=module', '-'], {
      input: readFileSync(file),
      encoding: 'utf8',
    })
    if (status !== 0) return readHeader(stderr, file)
  }
  return undefined
}

function toPath(file: string): string {
  return file.startsWith('file:') ? fileURLToPath(file) : file
}
