// Packs the npm packages for a test, once for all suites of `.ci/run`.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../..', import.meta.url))

/** The folder into which `npm run package` packs. */
const build = join(root, 'build')

/**
 * Returns a folder with the packed packages of this tree. `TEST_PACKED` names a file that exists once `.ci/run` has packed them; otherwise they are
 * packed into `folder`.
 */
export function packPackages(folder: string = build): string {
  const packed = process.env.TEST_PACKED
  if (packed !== undefined && existsSync(packed)) return build
  execFileSync(process.execPath, [join(root, 'tools/package/main.ts'), '--into', folder], {
    cwd: root,
    stdio: 'inherit',
  })
  return folder
}
