// Parsed by every Node since 14, so that an old one can say what is missing.
import * as nodeModule from 'node:module'
import { setFlagsFromString } from 'node:v8'

/** The oldest Node that an installed gateway runs on. */
export const minimumNode = '22.18'

/** Whether this Node is at least `minimum`, such as `24.11`. */
export function isAtLeast(minimum, version = process.versions.node) {
  const [major, minor] = version.split('.').map(Number)
  const [leastMajor, leastMinor] = minimum.split('.').map(Number)
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}

// glibc gives each thread a heap of its own and keeps in them what large messages leave behind: more than 100 MB. With these it gives
// that back to the system: a threshold that is set does not grow with them, nor does the one for blocks of their own, which is as large.
// It reads them only when a process begins, so the first line of the program sets them; other C libraries do not know them.
export const allocator = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '131072',
}

/** Runs the program in this process, or in one that begins anew with the allocator's settings, as after `node postern.mjs`. */
export async function launch(load) {
  const serves = ['start', 'dev'].includes(process.argv[2])
  const isSet = Object.keys(allocator).every(name => name in process.env)
  // A parent that talks with us would lose its line.
  if (serves && !isSet && process.platform === 'linux' && !process.connected) {
    const environment = { ...allocator, ...process.env }
    process.execve(process.execPath, [process.execPath, ...process.execArgv, ...process.argv.slice(1)], environment)
  }
  // The sizes are meant for this thread, which has them by now; they would go before the one that a mail parser's thread is given. Here
  // and not later: V8 takes no flags while threads run.
  setFlagsFromString('--max-semi-space-size=0')
  setFlagsFromString('--min-semi-space-size=0')
  nodeModule.enableCompileCache()
  hideKnownExperiments()
  const { runPostern } = await load()
  await runPostern(process.argv)
}

/** Node 22 warns of `node:sqlite` and of types in modules. Both are stable in the form that the gateway uses, and no user can change it. */
function hideKnownExperiments() {
  const { emitWarning } = process
  process.emitWarning = (warning, ...rest) => {
    const isKnown = rest[0] === 'ExperimentalWarning' && /^(SQLite|Type Stripping) is an experimental/.test(warning)
    if (!isKnown) emitWarning.call(process, warning, ...rest)
  }
}
