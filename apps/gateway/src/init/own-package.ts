// Finds the package `postern` for a new project: on npm, or in the clone that the command runs in.
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CommandError } from '@postern/operator/commands'
import { softwareVersion } from '../system/version.ts'

interface OwnPackage {
  /** The version or file, as `package.json` names it. */
  readonly dependency: string
  /** The packed package, which the command copies into the project; absent outside of a clone. */
  readonly tarball?: string
}

const modulePathInClone = '/apps/gateway/src/init/own-package.ts'

/**
 * Returns the dependency of a project. A clone may be of a release that npm does not have, so its projects get a packed copy.
 * @throws CommandError in a clone without a packed copy
 */
export function findOwnPackage(moduleUrl: string = import.meta.url): OwnPackage {
  if (!moduleUrl.endsWith(modulePathInClone)) return { dependency: softwareVersion }
  const cloneFolder = fileURLToPath(moduleUrl.slice(0, -modulePathInClone.length))
  const tarball = join(cloneFolder, `build/postern-${softwareVersion}.tgz`)
  if (existsSync(tarball)) return { dependency: `file:${basename(tarball)}`, tarball }
  throw new CommandError(
    `Cannot write a project that installs postern: ${tarball} does not exist. Run npm run package in the clone first.`,
  )
}
