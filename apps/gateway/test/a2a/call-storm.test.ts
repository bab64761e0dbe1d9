import { hash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '@postern/testing/free-port'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseConfig } from '../../src/config/read-config.ts'
import type { Gateway } from '../../src/gateway.ts'
import { openGateway } from '../../src/gateway.ts'
import { createLog } from '../../src/observe/log.ts'

const apiKey = 'the-key-of-the-tests'
const data = mkdtempSync(join(tmpdir(), 'postern-storm-'))
let gateway: Gateway
let port: number

beforeAll(async () => {
  port = await findFreePort()
  const config = parseConfig({
    origin: 'https://a.test',
    listen: { port },
    data,
    dev: true,
    operator_token: 'operator-token-of-the-tests',
    agents: { relay: { use: '../agents/calling/relay.ts' } },
    a2a: {
      auth: { api_keys: [{ name: 'tester', sha256: hash('sha256', apiKey) }] },
      limits: { streams_per_caller: 500 },
    },
    log: { level: 'silent' },
  })
  const log = createLog({ level: 'silent', readable: false })
  gateway = await openGateway(config, { baseDir: import.meta.dirname, log, operatorToken: 'x'.repeat(20) })
  await gateway.start()
})
afterAll(async () => {
  await gateway.stop()
  rmSync(data, { recursive: true })
})

async function sendMessage(text: string): Promise<string> {
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] }
  const response = await fetch(`http://127.0.0.1:${port}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': apiKey },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  })
  return (await response.json()).result.task.artifacts?.[0].parts[0].text
}

test('agents that all wait for each other get their answers, because a waiting agent uses no slot', async () => {
  // Two agents wait for each message: fewer in total than the 128 calls that an agent may have open, whatever their order.
  const storm = Array.from({ length: 60 }, () => sendMessage('@relay@a.test @relay@a.test'))
  const answers = await Promise.all(storm)
  expect(answers.filter(answer => answer.split('\n').length !== 3)).toEqual([])
}, 60_000)
