// Sends signals to a gateway that runs as a process of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { untilListening } from '../setup/gateway-process.ts'

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))

async function startGateway() {
  const folder = mkdtempSync(join(tmpdir(), 'postern-signals-'))
  const config = {
    ...{ origin: 'https://agents.test', listen: { port: 0 }, operator_token: 'token-of-the-signal-test' },
    agents: { echo: { use: 'builtin:echo' } },
  }
  writeFileSync(join(folder, 'postern.config.json'), JSON.stringify(config))
  const child = spawn(process.execPath, [program, 'start'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += String(chunk)))
  await untilListening(child)
  return { child, readOutput: () => output }
}

test('a gateway refuses SIGHUP with a fix, keeps running, and stops at SIGTERM', async () => {
  const { child, readOutput } = await startGateway()
  child.kill('SIGHUP')
  await vi.waitFor(() => expect(readOutput()).toMatch(/does not read its configuration again/), { timeout: 30_000 })
  expect(readOutput()).toMatch(/Restart the gateway to apply a changed configuration/)
  const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(readOutput()) ?? []
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})
