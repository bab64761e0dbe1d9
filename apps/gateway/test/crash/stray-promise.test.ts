import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '@postern/testing/free-port'
import { expect, onTestFinished, test } from 'vitest'
import { createGatewayProcess } from '../setup/gateway-process.ts'

const forgetful = `export async function handle(message) {
  Promise.reject(new Error('nobody looks'))
  await new Promise(resolve => setTimeout(resolve, 20))
  return 'still here'
}`

test('a rejected promise that an agent does not await does not end other conversations', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'postern-stray-'))
  const port = await findFreePort()
  const config = join(directory, 'postern.config.json')
  writeFileSync(join(directory, 'agent.mjs'), forgetful)
  const agents = { forgetful: { use: './agent.mjs' } }
  writeFileSync(
    config,
    JSON.stringify({ dev: true, data: directory, listen: { port }, agents, a2a: { auth: { anonymous: true } } }),
  )
  const gateway = createGatewayProcess(config)
  await gateway.start()
  onTestFinished(() => void gateway.kill())
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] }
  const response = await fetch(`http://127.0.0.1:${port}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  })
  expect(await response.json()).toMatchObject({ result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } } })
  expect(await gateway.stop()).toBe(0)
})
