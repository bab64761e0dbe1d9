import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { peopleOperations } from '@postern/operator'
import { expect, test } from 'vitest'
import { describeTestConfig, openTestGateway } from '../../test/setup/gateway.ts'
import { openOperatorClient } from './operator-client.ts'

const forget = { body: { address: 'nobody@sender.test', leave_files: undefined } }

/** Opens the data of a gateway that has stopped, whose agent counts how often it closes. */
async function openStopped(overrides: Readonly<Record<string, unknown>> = {}) {
  const gateway = await openTestGateway()
  await gateway.close()
  const [agent, closed] = ['agent.mjs', 'closed'].map(name => join(gateway.dataDir, name)) as [string, string]
  writeFileSync(
    agent,
    `import { appendFileSync } from 'node:fs'
    export const handle = () => 'hello'
    export const close = () => appendFileSync(${JSON.stringify(closed)}, 'x')`,
  )
  const tree = describeTestConfig(gateway.simulation, gateway.dataDir, {
    agents: { echo: { use: agent } },
    ...overrides,
  })
  const client = await openOperatorClient({ tree, baseDir: gateway.dataDir, missing: [], path: undefined })
  return { client, countClosed: () => (existsSync(closed) ? readFileSync(closed, 'utf8').length : 0) }
}

test('consecutive commands that write share the open agents', async () => {
  const { client, countClosed } = await openStopped()
  expect(await client.call(peopleOperations.forget, forget)).toMatchObject({ messages: 0 })
  expect(await client.call(peopleOperations.list, { query: {} })).toMatchObject({ items: [] })
  await client.close()
  expect(countClosed()).toBe(1)
})

test('a command that writes after one that reads opens the gateway again, with its agents', async () => {
  const { client, countClosed } = await openStopped()
  await Promise.all([client.call(peopleOperations.list, { query: {} }), client.get('/healthz')])
  expect(await client.call(peopleOperations.forget, forget)).toMatchObject({ messages: 0 })
  await client.close()
  expect(countClosed()).toBe(2)
})

test('an unused client opens no agents', async () => {
  const { client, countClosed } = await openStopped()
  await client.close()
  expect(countClosed()).toBe(0)
})

test('a command that writes refuses the data of another origin, and one that reads does not', async () => {
  const { client, countClosed } = await openStopped({ origin: 'https://third.example' })
  await expect(client.call(peopleOperations.forget, forget)).rejects.toThrow(
    'holds the data of the origin https://agents.test, and this gateway has the origin https://third.example',
  )
  expect(await client.call(peopleOperations.list, { query: {} })).toMatchObject({ items: [] })
  await client.close()
  expect(countClosed()).toBe(1)
})
