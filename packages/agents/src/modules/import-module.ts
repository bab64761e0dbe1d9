import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { extname, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { ConfigError } from '@postern/core'
import { importOperatorModule, listOperatorModules } from './operator-modules.ts'

/** A path, relative or absolute, to something that runs as it is. */
export const modulePathPattern = /^(?:\.{1,2}\/|\/).*\.(?:ts|mts|js|mjs)$/

/** Loads one of the operator's modules, by a path that starts from the configuration file. @throws ConfigError naming `key` */
export async function importModule(path: string, key: string, baseDir: string): Promise<unknown> {
  const file = resolve(baseDir, path)
  if (!existsSync(file))
    throw new ConfigError(key, `"${path}" cannot be loaded: there is no file ${file}`, 'Correct the path.')
  try {
    return await importOperatorModule(pathToFileURL(file).href)
  } catch (error) {
    const { problem, fix = `Check that ${file} exists and runs by itself: node ${file}` } = describeLoadFault(
      error,
      baseDir,
    )
    throw new ConfigError(key, `"${path}" cannot be loaded: ${problem}`, fix, { cause: error })
  }
}

interface Place {
  readonly file: string
  readonly line: number
  /** From 1; absent where the runtime does not tell. */
  readonly column: number | undefined
}

interface LoadFault {
  /** What went wrong, with file, line and column where they are known. */
  readonly problem: string
  /** How to fix it; absent if `problem` says everything. */
  readonly fix?: string
}

/** Says why one of the operator's files could not be loaded; paths are relative to `baseDir`. */
export function describeLoadFault(error: unknown, baseDir: string): LoadFault {
  const reason = error instanceof Error ? error.message : String(error)
  const place = error instanceof Error ? findPlace(error) : undefined
  if (!place) return { problem: reason }
  const file = relative(baseDir, place.file)
  const where = [file, place.line, place.column].filter(part => part !== undefined).join(':')
  if (!(error instanceof SyntaxError)) return { problem: `${reason} (thrown at ${where})` }
  const command = extname(file).endsWith('ts') ? `npx tsc --noEmit ${file}` : `node --check ${file}`
  return { problem: `${where} has a syntax error (${reason})`, fix: `Correct the line; ${command} shows it.` }
}

function findPlace(error: Error): Place | undefined {
  const stack = error.stack ?? ''
  return readHeader(stack) ?? (error instanceof SyntaxError ? findUncompiled() : readFrame(stack))
}

/** `file:///x.ts:3`, the line of source and a caret below it: how the runtime begins a stack when it knows the place. */
function readHeader(text: string, file?: string): Place | undefined {
  const [header = '', ...below] = text.split('\n', 8)
  const found = /^(?<file>file:\/\/.+|\/.+|\[stdin\]):(?<line>\d+)$/.exec(header)?.groups
  if (!found?.file) return
  return { file: file ?? toPath(found.file), line: Number(found.line), column: readCaret(below) }
}

/** The caret stands below the source, of which the runtime shows one line or more. */
function readCaret(lines: readonly string[]): number | undefined {
  const carets = lines.find(line => /^ *\^+ *$/.test(line))
  return carets === undefined ? undefined : carets.indexOf('^') + 1
}

/** The first frame of a stack in one of the operator's files. */
function readFrame(stack: string): Place | undefined {
  const own = new Set(listOperatorModules())
  for (const [, file = '', line, column] of stack.matchAll(/(file:\/\/[^\s()]+):(\d+):(\d+)/g)) {
    if (own.has(file)) return { file: toPath(file), line: Number(line), column: Number(column) }
  }
  return undefined
}

/** The runtime does not name the faulty line of a plain ECMAScript module. A check of the file alone does. */
function findUncompiled(): Place | undefined {
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
