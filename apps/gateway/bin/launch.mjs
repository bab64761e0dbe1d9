// Starts the program with the settings of its process. Every Node since 14 parses this file, so that an old one can say what is missing.
import * as nodeModule from 'node:module'

/** The oldest Node that a gateway runs on. */
export const minimumNode = '24.11'

/** Whether this Node is at least `minimum`, such as `24.11`. */
export function isAtLeast(minimum, version = process.versions.node) {
  const [major, minor] = version.split('.').map(Number)
  const [leastMajor, leastMinor] = minimum.split('.').map(Number)
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}

/**
 * glibc gives each thread a heap of its own and keeps in them what large messages leave behind: more than 100 MB. With these settings it
 * gives that back to the system: a threshold that is set does not grow with such blocks. Other C libraries ignore them.
 */
export const allocator = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '131072',
}

/**
 * Flags that keep V8's memory small. The space for short-lived objects costs a few per cent of CPU time, and is not so small that a start
 * fills it ten times. The heap is collected whenever it has grown by a fifth, so that it does not grow with the load. Node does not
 * document that flag, and refuses to start with one that its V8 does not know; so only versions that were tried get it.
 */
export const nodeFlags = [
  '--max-semi-space-size=8',
  '--min-semi-space-size=4',
  ...(isAtLeast('27') ? [] : ['--heap-growing-percent=20']),
]

/** Runs the program. A gateway that serves first replaces its process once, since the allocator and V8 read their settings only when a process begins. */
export async function launch(load) {
  if (['start', 'dev'].includes(process.argv[2])) replaceProcess()
  nodeModule.enableCompileCache()
  hideKnownExperiments()
  const { runPostern } = await load()
  await runPostern(process.argv)
}

/** Keeps the process id, the signals and whatever the operator has set. Returns if there is nothing to set. */
function replaceProcess() {
  // V8 reads underscores in names of flags as hyphens.
  const given = [...process.execArgv, process.env.NODE_OPTIONS || ''].join(' ').replaceAll('_', '-')
  const flags = nodeFlags.filter(flag => !given.includes(flag.split('=')[0]))
  const isSet = flags.length === 0 && Object.keys(allocator).every(name => name in process.env)
  // A parent that talks with this process would lose its line.
  if (isSet || process.connected || process.platform === 'win32') return
  const args = [process.execPath, ...flags, ...process.execArgv, ...process.argv.slice(1)]
  process.execve(process.execPath, args, { ...allocator, ...process.env })
}

/** Node 24 warns of `node:sqlite`. It is stable in the form that the gateway uses, and no user can change it. */
function hideKnownExperiments() {
  const { emitWarning } = process
  process.emitWarning = (warning, ...rest) => {
    const isKnown = rest[0] === 'ExperimentalWarning' && /^SQLite is an experimental/.test(warning)
    if (!isKnown) emitWarning.call(process, warning, ...rest)
  }
}
