// Reads the imports and exports of TypeScript files.
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

/** One TypeScript file of the repository, as its text shows it: what it imports and exports. */
export interface SourceFile {
  /** Path from the root of the repository, with `/`. */
  readonly path: string
  readonly text: string
  readonly imports: readonly FileImport[]
  readonly exports: readonly string[]
}

interface FileImport {
  /** Specifier as written. */
  readonly specifier: string
  /** True if the file runs when the importing one is loaded. */
  readonly isRun: boolean
  /** Path of the file that a relative specifier names. */
  readonly target?: string
}

const importPattern = /^(?:import|export)\s(?:[^'"]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm
const exportPattern =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const enum|const|let|function\*?|class|interface|type|enum) ([\w$]+)/gm
const commentPattern = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g

/** Reads the files, whose paths are from `root`. */
export function readSourceFiles(root: string, paths: readonly string[]): readonly SourceFile[] {
  return paths.map(path => parseSourceFile(path, readFileSync(join(root, path), 'utf8')))
}

/** Parses a file. Code here is formatted by one program, so each import and export begins its line. */
export function parseSourceFile(path: string, text: string): SourceFile {
  const code = text.replace(commentPattern, '')
  const imports = [...code.matchAll(importPattern)].map(([statement, from, dynamic = '']) => ({
    specifier: from ?? dynamic,
    isRun: from !== undefined && !/^(?:import|export) type\s/.test(statement),
  }))
  return {
    path,
    text,
    imports: imports.map(each => ({ ...each, ...findTarget(path, each.specifier) })),
    exports: [...new Set([...code.matchAll(exportPattern)].map(([, name]) => name ?? ''))],
  }
}

function findTarget(path: string, specifier: string): { readonly target?: string } {
  if (!specifier.startsWith('.')) return {}
  return { target: posix.normalize(posix.join(posix.dirname(path), specifier)) }
}

/** Files of tests: beside the code, in a `test` folder, and the package of contracts. */
export function isTestFile(path: string): boolean {
  return /\.test\.ts$|\/test\/|^packages\/testing\//.test(path)
}
