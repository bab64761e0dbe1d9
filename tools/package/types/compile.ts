import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readOwnEntries } from './own-packages.ts'

interface CompiledDeclarations {
  readonly folder: string
  /** What TypeScript says, by the source that it says it of. */
  readonly faults: readonly { readonly file: string; readonly line: string }[]
}

/** Lets TypeScript write the declarations of all that the entries import, each at its source's path. */
export function compileDeclarations(root: string, entries: readonly string[]): CompiledDeclarations {
  const folder = mkdtempSync(join(tmpdir(), 'postern-types-'))
  // TypeScript looks for libraries from the place of the project file, so it lies in the tree.
  const project = join(root, `tsconfig.declarations-${process.pid}.json`)
  const config = {
    extends: './tsconfig.base.json',
    compilerOptions: {
      ...{ noEmit: false, declaration: true, emitDeclarationOnly: true, rootDir: '.', outDir: folder },
      // What is found in node_modules counts as a library, of which nothing is written.
      paths: Object.fromEntries([...readOwnEntries(root)].map(([name, { source }]) => [name, [`./${source}`]])),
    },
    files: [...entries, ...globSync('packages/*/src/**/*.d.ts', { cwd: root })],
  }
  writeFileSync(project, JSON.stringify(config))
  try {
    const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', project], { cwd: root, encoding: 'utf8' })
    const faults = [...stdout.matchAll(/^(\S[^(\n]*)\(\d+,\d+\): error .*$/gm)]
    return { folder, faults: faults.map(([line, file = '']) => ({ file, line })) }
  } finally {
    rmSync(project)
  }
}
