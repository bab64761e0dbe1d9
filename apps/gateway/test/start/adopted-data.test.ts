import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createGatewayProcess } from '../setup/gateway-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'postern-adopted-'))
const data = join(folder, 'data')

/** Starts and stops a gateway on the one data folder of this file. Returns `listens`, or its error. */
async function begin(command: readonly string[], config: object = {}): Promise<string> {
  const path = join(folder, 'postern.config.json')
  const email = { listen: { port: 0, protocol: 'smtp' } }
  const ownConfig = { dev: true, origin: 'https://agents.test', data, listen: { port: 0 }, email }
  writeFileSync(path, JSON.stringify({ ...ownConfig, ...config }))
  const gateway = createGatewayProcess(path, { command })
  onTestFinished(() => gateway.kill())
  const startResult = await gateway.start().then(
    () => 'listens',
    (error: Error) => error.message,
  )
  await gateway.stop()
  return startResult
}

test('data belongs to the mode and origin of its gateway', async () => {
  expect(await begin(['start'])).toBe('listens')
  expect(await begin(['dev'])).toContain(
    'the gateway ended with 1: data: holds the data of "postern start", and "postern dev" would send its waiting messages to simulated peers. Name another folder or store, or run "postern dev --adopt" to take the data over.\n',
  )
  expect(await begin(['start'], { origin: 'https://moved.test' })).toContain(
    'the gateway ended with 1: data: holds the data of the origin https://agents.test, and this gateway has the origin https://moved.test. Correct "origin", name another folder or store, or run "postern start --adopt" to take the data over.\n',
  )
})

test('a gateway adopts data of another origin with "--adopt", and keeps it with any agents', async () => {
  expect(await begin(['dev', '--adopt'])).toBe('listens')
  expect(await begin(['start'])).toContain('would send its waiting messages to real peers')
  expect(await begin(['dev'], { agents: { other: { use: 'builtin:echo' } } })).toBe('listens')
})
