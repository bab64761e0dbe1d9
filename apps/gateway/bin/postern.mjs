#!/usr/bin/env -S node --max-semi-space-size=8
// Runs the program on a Node that can: this one, or the one the project pins as a dependency. The flag on the first line keeps
// the space for short-lived objects small: resident memory stays under 200 MB at full load, for a few per cent of CPU time.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

const [major, minor] = process.versions.node.split('.').map(Number)
const isRecent = major > 24 || (major === 24 && minor >= 11)

if (isRecent) {
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
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
}
