#!/usr/bin/env -S node --max-semi-space-size=8
// Runs the program on a Node that can: this one, or the one the project pins as a dependency. The flag on the first line keeps
// the space for short-lived objects small, for a few per cent of CPU time.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

const [major, minor] = process.versions.node.split('.').map(Number)
const isRecent = major > 24 || (major === 24 && minor >= 11)

// glibc gives each thread a heap of its own and keeps in them what large messages leave behind: more than 100 MB. With these it gives
// that back to the system. It reads them only when a process begins; other C libraries do not know them.
const allocator = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
}
const environment = { ...allocator, ...process.env }
const serves = ['start', 'dev'].includes(process.argv[2])
const isSet = Object.keys(allocator).every(name => name in process.env)
// A parent that talks with us would lose its line.
const beginsAnew = isRecent && serves && !isSet && process.platform === 'linux' && !process.connected

if (beginsAnew) {
  process.execve(process.execPath, [process.execPath, ...process.execArgv, ...process.argv.slice(1)], environment)
} else if (isRecent) {
  // The size is meant for this thread, which has it by now; it would go before the one that a mail parser's thread is given. Here
  // and not later: V8 takes no flags while threads run.
  setFlagsFromString('--max-semi-space-size=0')
  nodeModule.enableCompileCache()
  const { runPostern } = await import('../src/main.ts')
  await runPostern(process.argv)
} else {
  const pinned = fileURLToPath(new URL('../../../node_modules/node/bin/node', import.meta.url))
  if (!existsSync(pinned)) {
    console.error(
      `Postern needs Node 24.11 or later; this is ${process.version}. "npm install" in the project brings one.`,
    )
    process.exit(1)
  }
  const child = spawn(pinned, ['--max-semi-space-size=8', fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: environment,
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
}
