// Compiles examples against the types of `postern`.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../../../..')
const resolveFromRoot = (path: string) => join(root, path)

/** The files that contain the types of `postern`, keyed by the specifier with which a module imports them. */
export type TypeFiles = Readonly<Record<'postern' | 'postern/testing', string>>

const sourceTypeFiles: TypeFiles = {
  postern: resolveFromRoot('apps/gateway/src/index.ts'),
  'postern/testing': resolveFromRoot('apps/gateway/src/testing/index.ts'),
}

/**
 * Returns the compiler's messages about modules that import `postern`, as `example-<index>.ts`. Messages about the sources themselves are omitted,
 * because `npm run types` reports them.
 */
export function listTypeErrors(modules: readonly string[], typeFiles = sourceTypeFiles): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'postern-examples-'))
  try {
    symlinkSync(resolveFromRoot('node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    for (const [index, code] of modules.entries()) writeFileSync(join(folder, `example-${index}.ts`), code)
    const compilerOptions = {
      paths: Object.fromEntries(Object.entries(typeFiles).map(([name, file]) => [name, [file]])),
      typeRoots: [resolveFromRoot('node_modules/@types')],
      types: ['node'],
      noUnusedLocals: false,
      noUnusedParameters: false,
    }
    const config = { extends: resolveFromRoot('tsconfig.base.json'), compilerOptions, include: ['*.ts'] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const tsc = resolveFromRoot('node_modules/typescript/bin/tsc')
    // Several checkers would each read the library again, on cores that other tests use.
    const args = [tsc, '--noEmit', '--checkers', '1', '-p', folder]
    const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    return stdout.split('\n').filter(line => /example-\d+\.ts/.test(line))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
