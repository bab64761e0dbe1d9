// Finds the browser Chromium.
import { CannotRun, findMissingTools, hasCommand, isDebianRoot, openPackageLists } from '../debian.ts'

/** Returns the path of the browser. On Debian, root fetches its package, which starts nothing by itself. @throws CannotRun */
export async function findChromium(directory: string): Promise<string> {
  const missingTools = await findMissingTools()
  const neededPackages = [...missingTools, ...((await hasCommand('chromium')) ? [] : ['chromium'])]
  if (neededPackages.length === 0) return '/usr/bin/chromium'
  if (!(await isDebianRoot())) throw new CannotRun(`${neededPackages.join(', ')}: not installed`)
  const apt = await openPackageLists(directory)
  await apt(['install', '-y', '--no-install-recommends', ...neededPackages])
  return '/usr/bin/chromium'
}
