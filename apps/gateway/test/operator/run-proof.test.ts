import { createHmac } from 'node:crypto'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { ConfigFile } from '../../src/config/read-config.ts'
import { readConfigFile } from '../../src/config/read-config.ts'
import { createLog } from '../../src/observe/log.ts'
import { openOperatorClient } from '../../src/running/operator-client.ts'
import type { SimulatedGateway } from '../../src/running/run.ts'
import { openDev } from '../../src/running/run.ts'
import { findRunFile } from '../../src/system/run/run-file.ts'
import { verifyRun } from '../../src/system/run/run-proof.ts'

const environment = { POSTERN_LISTEN_PORT: '0', POSTERN_EMAIL_LISTEN_PORT: '0' }

async function readFolder(): Promise<{ file: ConfigFile; data: string }> {
  const workingDir = mkdtempSync(join(tmpdir(), 'postern-proof-'))
  const data = join(workingDir, 'data')
  mkdirSync(data)
  return { file: await readConfigFile({ environment, workingDir, settings: { data } }), data }
}

let dev: SimulatedGateway
let ownFolder: Awaited<ReturnType<typeof readFolder>>
beforeAll(async () => {
  ownFolder = await readFolder()
  dev = await openDev(ownFolder.file, { log: createLog({ level: 'silent', readable: false }) })
})
afterAll(() => dev.stop())

/** Opens a foreign program at a port, which answers everything with 200. */
async function openStranger(answer: (request: IncomingMessage) => Promise<unknown>) {
  const requests: IncomingMessage[] = []
  const server = createServer(async (request, response) => {
    requests.push(request)
    response.setHeader('content-type', 'application/json').end(JSON.stringify(await answer(request)))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: requests }
}

test('a command sends its token to the gateway that wrote the run file', async () => {
  const client = await openOperatorClient(ownFolder.file)
  expect(client.isRunning).toBe(true)
  await client.close()
})

test.each([
  ['claims to be well', async () => ({ status: 'ok' })],
  ['makes up a proof', async () => ({ proof: createHmac('sha256', 'guess').update('x').digest('base64url') })],
  [
    'relays the challenge to another gateway',
    async ({ url }: IncomingMessage) => (await fetch(`${dev.listening[0]?.description}${url}`)).json(),
  ],
])('a command sends no token to a program at the port of a stale run file that %s', async (_, answer) => {
  const { url, asked } = await openStranger(answer)
  const { file, data } = await readFolder()
  const { secret } = findRunFile(ownFolder.data) ?? {}
  writeFileSync(join(data, 'gateway.json'), JSON.stringify({ url, pid: 1, isSimulating: true, secret }))
  const client = await openOperatorClient(file)
  expect(client.isRunning).toBe(false)
  await client.close()
  expect(asked.map(request => request.url?.split('?')[0])).toEqual(['/operator/proof'])
  expect(asked.flatMap(request => request.headers.authorization ?? [])).toEqual([])
})

test('a gateway proves itself only for its own address and a nonce of 32 bytes', async () => {
  const runFile = findRunFile(ownFolder.data)
  if (!runFile) throw new Error('there is no run file')
  expect(await verifyRun(runFile)).toBe(true)
  expect(await verifyRun({ ...runFile, url: runFile.url.replace('127.0.0.1', 'localhost') })).toBe(false)
  const response = await fetch(`${runFile.url}/operator/proof?nonce=short`)
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('32 bytes in base64url')])
})
