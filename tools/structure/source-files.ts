// Reads the imports and exports of TypeScript files.
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

/** A TypeScript file with its imports and exports, as far as its text shows them. */
export interface SourceFile {
  /** The path from the root of the repository, with `/`. */
  readonly path: string
  readonly text: string
  readonly imports: readonly FileImport[]
  readonly exports: readonly string[]
}

interface FileImport {
  /** The specifier as written. */
  readonly specifier: string
  /** True if the file runs when the importing one is loaded. */
  readonly isRun: boolean
  /** The path of the file that a relative specifier names. */
  readonly target?: string
}

const importPattern = /^(?:import|export)\s(?:[^'"]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm
const exportPattern =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const enum|const|let|function\*?|class|interface|type|enum) ([\w$]+)/gm
const commentPattern = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g

/** Reads files whose paths are relative to `root`. */
export function readSourceFiles(root: string, paths: readonly string[]): readonly SourceFile[] {
  return paths.map(path => parseSourceFile(path, readFileSync(join(root, path), 'utf8')))
}

/** Parses a file. A formatter indents all code, so each import and export begins its line. */
export function parseSourceFile(path: string, text: string): SourceFile {
  const code = text.replace(commentPattern, '')
  const imports = [...code.matchAll(importPattern)].map(([statement, from, dynamic = '']) => ({
    specifier: from ?? dynamic,
    isRun: from !== undefined && !/^(?:import|export) type\s/.test(statement),
  }))
  return {
    path,
    text,
    imports: imports.map(importEntry => ({ ...importEntry, ...findTarget(path, importEntry.specifier) })),
    exports: [...new Set([...code.matchAll(exportPattern)].map(([, name]) => name ?? ''))],
  }
}

function findTarget(path: string, specifier: string): { readonly target?: string } {
  if (!specifier.startsWith('.')) return {}
  return { target: posix.normalize(posix.join(posix.dirname(path), specifier)) }
}

/** Returns true for test files: beside the code, in a `test` folder, or in the package of contracts. */
export function isTestFile(path: string): boolean {
  return /\.test\.ts$|\/test\/|^packages\/testing\//.test(path)
}
