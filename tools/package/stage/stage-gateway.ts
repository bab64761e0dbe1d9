import { chmodSync, copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeBundle } from '../bundle.ts'
import { copyDocuments, writeLicences } from '../documents.ts'
import { groupByStart } from '../files-of-start.ts'
import { packageOf, readLibraries } from '../libraries.ts'
import { writeDeclarations } from '../types/declarations.ts'
import { describeGatewayPackage } from './describe-gateway-package.ts'

export interface StageOptions {
  readonly root: string
  /** Emptied before anything is written. */
  readonly folder: string
}

/** Writes everything that the package `postern` holds. */
export async function stageGateway({ root, folder }: StageOptions): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  const libraries = readLibraries(root)
  const { imported, contained } = await writeBundle({
    ...{ root, folder: join(folder, 'dist'), libraries, entries },
    group: chunks => groupByStart(chunks, root),
  })
  const named = writeDeclarations({ root, folder: join(folder, 'types'), entries: typeEntries })
  const used = [...new Set([...imported, ...named.filter(name => !name.startsWith('node:')).map(packageOf)])]
  const manifest = describeGatewayPackage({ root, imported: used, libraries })
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
  copyProgram(root, folder)
  copyDocuments({ root, folder })
  writeLicences({ root, folder, contained })
}

const entries = {
  main: 'apps/gateway/src/main.ts',
  index: 'apps/gateway/src/index.ts',
  testing: 'apps/gateway/src/testing/index.ts',
}

/** Sources whose types are public. */
const typeEntries = [entries.index, entries.testing]

function copyProgram(root: string, folder: string): void {
  mkdirSync(join(folder, 'bin'), { recursive: true })
  copyFileSync(join(root, 'apps/gateway/bin/installed.mjs'), join(folder, 'bin/postern.mjs'))
  copyFileSync(join(root, 'apps/gateway/bin/launch.mjs'), join(folder, 'bin/launch.mjs'))
  cpSync(join(root, 'apps/gateway/schemas'), join(folder, 'schemas'), { recursive: true })
  cpSync(join(root, 'packages/console/public'), join(folder, 'console'), { recursive: true })
  chmodSync(join(folder, 'bin/postern.mjs'), 0o755)
}
