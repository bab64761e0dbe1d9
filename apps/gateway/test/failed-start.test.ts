import { mkdtempSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createGatewayProcess } from './gateway-process.ts'

/** What a gateway with this configuration says when it cannot start. */
async function failToStart(changed: object): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'postern-start-'))
  const config = join(directory, 'postern.config.json')
  const own = { dev: true, data: directory, listen: { port: 0 }, email: { listen: { port: 0, protocol: 'smtp' } } }
  writeFileSync(config, JSON.stringify({ ...own, ...changed }))
  const gateway = createGatewayProcess(config)
  onTestFinished(() => gateway.kill())
  return gateway.start().then(
    () => 'it started',
    (error: Error) => error.message,
  )
}

async function takePort(): Promise<number> {
  const taken = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void taken.close())
  await new Promise<void>(resolve => taken.once('listening', () => resolve()))
  return (taken.address() as AddressInfo).port
}

test('a gateway that cannot have its port says so and ends', async () => {
  const port = await takePort()
  const mend = 'Free the port, or set listen.port (POSTERN_LISTEN_PORT) to another one.'
  expect(await failToStart({ listen: { port } })).toContain(
    `the gateway ended with 1: listen: cannot listen on 127.0.0.1:${port} (EADDRINUSE). ${mend}\n`,
  )
})

test('so does one whose mail port is taken', async () => {
  const port = await takePort()
  const mend = 'Free the port, or set email.listen.port (POSTERN_EMAIL_LISTEN_PORT) to another one.'
  expect(await failToStart({ email: { listen: { port, protocol: 'smtp' } } })).toContain(
    `the gateway ended with 1: email.listen: cannot listen on 127.0.0.1:${port} (EADDRINUSE). ${mend}\n`,
  )
})

test('so does one that cannot make its data directory', async () => {
  expect(await failToStart({ data: '/dev/null' })).toContain(
    'the gateway ended with 1: data: "/dev/null" cannot be made a directory. Name a directory that exists or can be made.\n',
  )
})
