import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { peopleOperations } from '@postern/operator'
import { expect, test } from 'vitest'
import { describeTestConfig, openTestGateway } from '../../test/setup/gateway.ts'
import { openOperatorClient } from './operator-client.ts'

const forgetRequest = { body: { address: 'nobody@sender.test', leave_files: undefined } }

/** Opens the data of a stopped gateway. The agent writes one letter to a file each time it is closed. */
async function openStoppedGateway(overrides: Readonly<Record<string, unknown>> = {}) {
  const gateway = await openTestGateway()
  await gateway.close()
  const [agentFile, closingsFile] = ['agent.mjs', 'closed'].map(name => join(gateway.dataDir, name)) as [string, string]
  writeFileSync(
    agentFile,
    `import { appendFileSync } from 'node:fs'
    export const handle = () => 'hello'
    export const close = () => appendFileSync(${JSON.stringify(closingsFile)}, 'x')`,
  )
  const config = describeTestConfig(gateway.simulation, gateway.dataDir, {
    agents: { echo: { use: agentFile } },
    ...overrides,
  })
  const client = await openOperatorClient({
    tree: config,
    baseDir: gateway.dataDir,
    missingSettings: [],
    path: undefined,
  })
  return { client, countClosings: () => (existsSync(closingsFile) ? readFileSync(closingsFile, 'utf8').length : 0) }
}

test('consecutive commands that write share the open agents', async () => {
  const { client, countClosings } = await openStoppedGateway()
  expect(await client.call(peopleOperations.forget, forgetRequest)).toMatchObject({ messages: 0 })
  expect(await client.call(peopleOperations.list, { query: {} })).toMatchObject({ items: [] })
  await client.close()
  expect(countClosings()).toBe(1)
})

test('a command that writes after one that reads opens the gateway again, with its agents', async () => {
  const { client, countClosings } = await openStoppedGateway()
  await Promise.all([client.call(peopleOperations.list, { query: {} }), client.get('/healthz')])
  expect(await client.call(peopleOperations.forget, forgetRequest)).toMatchObject({ messages: 0 })
  await client.close()
  expect(countClosings()).toBe(2)
})

test('an unused client opens no agents', async () => {
  const { client, countClosings } = await openStoppedGateway()
  await client.close()
  expect(countClosings()).toBe(0)
})

test('a command that writes refuses the data of another origin, and one that reads does not', async () => {
  const { client, countClosings } = await openStoppedGateway({ origin: 'https://third.example' })
  await expect(client.call(peopleOperations.forget, forgetRequest)).rejects.toThrow(
    'holds the data of the origin https://agents.test, and this gateway has the origin https://third.example',
  )
  expect(await client.call(peopleOperations.list, { query: {} })).toMatchObject({ items: [] })
  await client.close()
  expect(countClosings()).toBe(1)
})
