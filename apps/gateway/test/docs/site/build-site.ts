// Builds the site of the documentation before its tests inspect it.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../../..', import.meta.url))

/** Builds the site as `npm run docs` does. @throws Error when the build fails */
export function setup(): void {
  execFileSync('npm', ['run', '-s', 'docs'], { cwd: root, stdio: 'inherit' })
}
