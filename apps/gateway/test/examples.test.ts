import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseConfig, readConfigFile } from '../src/config/read-config.ts'
import type { TestHouse } from './house.ts'
import { eventually, openTestHouse, operatorToken } from './house.ts'

// What of examples/ takes a whole gateway.

const examples = fileURLToPath(new URL('../../../examples', import.meta.url))
const runs = (command: string, ...args: readonly string[]) => spawnSync(command, args, { stdio: 'ignore' }).status === 0
const canRun = runs('bash', '--version') && runs('curl', '--version') && runs('jq', '--version')

describe.skipIf(!canRun)('operator.sh', () => {
  let house: TestHouse

  beforeAll(async () => {
    house = await openTestHouse()
  })
  afterAll(() => house.close())

  async function run(...args: readonly string[]): Promise<string> {
    const env = { ...process.env, GATEWAY_URL: house.url(), OPERATOR_TOKEN: operatorToken }
    return (await promisify(execFile)(`${examples}/shell/operator.sh`, args, { env })).stdout
  }

  test('lists what came', async () => {
    await house.world.fediverse.deliver({ to: '@echo@agents.test', text: 'hello' })
    await eventually(async () => (await house.messages()).some(({ state }) => state === 'answered'))
    expect(await run('messages')).toMatch(/^answered\tactivitypub\t@\S+\techo\n$/)
  })

  test('lets an agent post', async () => {
    const id = (await run('post', 'echo', 'Closed "today".')).trim()
    expect(await house.show(`post:${id}`)).toMatchObject({
      response: { parts: [{ content: 'Closed "today".' }] },
    })
  })

  test('fails with the answer of the gateway', async () => {
    await expect(run('post', 'nobody', 'x')).rejects.toMatchObject({ code: 22 })
  })
})

test.each(['', '/openai'])('examples%s/postern.config.json is a configuration', async folder => {
  const environment = { OPERATOR_TOKEN: 'x'.repeat(16), WEBHOOK_SECRET: 'shared' }
  const { tree } = await readConfigFile({
    path: `${examples}${folder}/postern.config.json`,
    environment,
    workingDir: examples,
  })
  expect(Object.keys(parseConfig(tree).agents).length).toBeGreaterThan(0)
})
