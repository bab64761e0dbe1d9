/** `npm run package`: builds the npm package in `build/package`, packs it as `build/postern-<version>.tgz` and checks it. Publishes nothing. */
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkTarball } from './check-tarball.ts'
import { stagePackage } from './stage.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const build = join(root, 'build')
const folder = join(build, 'package')

await stagePackage({ root, folder })
const packed = execFileSync('npm', ['pack', folder, '--pack-destination', build, '--json', '--loglevel=error'], {
  encoding: 'utf8',
})
const [{ filename }] = Object.values(JSON.parse(packed)) as [{ readonly filename: string }]
const tarball = join(build, filename)
const faults = await checkTarball(tarball)
for (const fault of faults) console.log(fault)
console.log(`build/${filename}: ${(statSync(tarball).size / 1e6).toFixed(2)} MB, ${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1
