import { chmodSync, copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { minimumNode } from '../../apps/gateway/bin/launch.mjs'
import { writeBundle } from './bundle.ts'
import { copyDocuments, writeLicences } from './documents.ts'
import { packageOf, readLibraries } from './libraries.ts'
import { describePackage } from './manifest.ts'
import { writeDeclarations } from './types/declarations.ts'

interface StageOptions {
  readonly root: string
  /** Emptied before anything is written. */
  readonly folder: string
}

/** Writes everything that the npm package holds. */
export async function stagePackage({ root, folder }: StageOptions): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  const libraries = readLibraries(root)
  const { imported, contained } = await writeBundle({ root, folder: join(folder, 'dist'), libraries })
  const named = writeDeclarations({ root, folder: join(folder, 'types'), entries: typeEntries })
  const used = [...new Set([...imported, ...named.filter(name => !name.startsWith('node:')).map(packageOf)])]
  const manifest = describePackage({ root, imported: used, libraries, minimumNode })
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
  copyProgram(root, folder)
  copyDocuments({ root, folder })
  writeLicences({ root, folder, contained })
}

/** Sources whose types are public. */
const typeEntries = ['apps/gateway/src/index.ts', 'apps/gateway/src/testing/index.ts']

function copyProgram(root: string, folder: string): void {
  mkdirSync(join(folder, 'bin'), { recursive: true })
  copyFileSync(join(root, 'apps/gateway/bin/installed.mjs'), join(folder, 'bin/postern.mjs'))
  copyFileSync(join(root, 'apps/gateway/bin/launch.mjs'), join(folder, 'bin/launch.mjs'))
  cpSync(join(root, 'apps/gateway/schemas'), join(folder, 'schemas'), { recursive: true })
  cpSync(join(root, 'packages/console/public'), join(folder, 'console'), { recursive: true })
  chmodSync(join(folder, 'bin/postern.mjs'), 0o755)
}
