/**
 * `npm run package`: builds the npm packages in `build/package` and `build/create-postern`, packs them as `build/<name>-<version>.tgz` and
 * checks them. Publishes nothing.
 */
import { execFileSync } from 'node:child_process'
import { globSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { minimumNode } from '../../apps/gateway/bin/launch.mjs'
import { checkTypes, lintPackage } from './check-tarball.ts'
import { stagePackage } from './stage.ts'
import { stageCreator } from './stage-creator.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const build = join(root, 'build')
const [gateway, creator] = [join(build, 'package'), join(build, 'create-postern')]

for (const path of globSync('*.tgz', { cwd: build })) rmSync(join(build, path))
await stagePackage({ root, folder: gateway })
stageCreator({ root, folder: creator, minimumNode })
const [gatewayTarball, creatorTarball] = [pack(gateway), pack(creator)]
const faults = [
  ...(await lintPackage(gatewayTarball)),
  ...(await checkTypes(gatewayTarball)),
  ...(await lintPackage(creatorTarball)),
]
for (const fault of faults) console.log(fault)
for (const tarball of [gatewayTarball, creatorTarball])
  console.log(`${tarball.slice(root.length)}: ${(statSync(tarball).size / 1e6).toFixed(2)} MB`)
console.log(`${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1

/** The packed package. */
function pack(folder: string): string {
  const args = ['pack', folder, '--pack-destination', build, '--json', '--loglevel=error']
  const [packed] = Object.values(JSON.parse(execFileSync('npm', args, { encoding: 'utf8' }))) as { filename: string }[]
  return join(build, packed?.filename ?? '')
}
