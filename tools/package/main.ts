// Builds, packs and checks the npm packages without publishing anything.
/**
 * `npm run package`: builds the npm packages in `build/<name>`, packs them as `build/<name>-<version>.tgz` and checks them. It publishes
 * nothing. With `-- --release` it also fails for packages that must not be published, and `-- --into <folder>` replaces `build`.
 */
import { execFileSync } from 'node:child_process'
import { globSync, rmSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { checkTypes, lintPackage } from './check-tarball.ts'
import { findReleaseFaults, readRootManifest } from './stage/publication.ts'
import { stageAdapter } from './stage/stage-adapter.ts'
import { stageCreator } from './stage/stage-creator.ts'
import { stageGateway } from './stage/stage-gateway.ts'

const root = join(import.meta.dirname, '../..')
const { values } = parseArgs({ options: { release: { type: 'boolean' }, into: { type: 'string' } } })
const buildFolder = resolve(values.into ?? join(root, 'build'))
const packages = [
  { folder: join(buildFolder, 'package'), stage: stageGateway, isTyped: true },
  { folder: join(buildFolder, 'create-postern'), stage: stageCreator, isTyped: false },
  { folder: join(buildFolder, 'chat-adapter'), stage: stageAdapter, isTyped: true },
]

for (const path of globSync('*.tgz', { cwd: buildFolder })) rmSync(join(buildFolder, path))
const faults = values.release ? [...findReleaseFaults(readRootManifest(root))] : []
for (const { folder, stage, isTyped } of packages) {
  await stage({ root, folder })
  const tarball = pack(folder)
  faults.push(...(await lintPackage(tarball)), ...(isTyped ? await checkTypes(tarball) : []))
  console.log(`${relative(root, tarball)}: ${(statSync(tarball).size / 1e6).toFixed(2)} MB`)
}
for (const fault of faults) console.log(fault)
console.log(`${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1

/** Packs the package and returns the path of the archive. */
function pack(folder: string): string {
  const args = ['pack', folder, '--pack-destination', buildFolder, '--json', '--loglevel=error']
  const [packedFile] = Object.values(JSON.parse(execFileSync('npm', args, { encoding: 'utf8' }))) as {
    filename: string
  }[]
  return join(buildFolder, packedFile?.filename ?? '')
}
