// Tests the examples that need a whole gateway.
import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseConfig, readConfigFile } from '../../src/config/read-config.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, openTestGateway, operatorToken } from '../setup/gateway.ts'
import { askShop, callShop, decide, readAnswerText, readPolicy } from '../setup/requirement-steps.ts'

const examples = fileURLToPath(new URL('../../../../examples', import.meta.url))
const isInstalled = (command: string, ...args: readonly string[]) =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0
const canRun = isInstalled('bash', '--version') && isInstalled('curl', '--version') && isInstalled('jq', '--version')

describe.skipIf(!canRun)('operator.sh', () => {
  let gateway: TestGateway

  beforeAll(async () => {
    gateway = await openTestGateway()
  })
  afterAll(() => gateway.close())

  async function runScript(...args: readonly string[]): Promise<string> {
    const env = { ...process.env, GATEWAY_URL: gateway.url(), OPERATOR_TOKEN: operatorToken }
    return (await promisify(execFile)(`${examples}/shell/operator.sh`, args, { env })).stdout
  }

  test('lists received messages', async () => {
    await gateway.simulation.fediverse.deliver({ to: '@echo@agents.test', text: 'hello' })
    await eventually(async () => (await gateway.messages()).some(({ state }) => state === 'answered'))
    expect(await runScript('messages')).toMatch(/^answered\tactivitypub\t@\S+\techo\n$/)
  })

  test('lets an agent post', async () => {
    const id = (await runScript('post', 'echo', 'Closed "today".')).trim()
    expect(await gateway.readMessage(`post:${id}`)).toMatchObject({
      response: { parts: [{ content: 'Closed "today".' }] },
    })
  })

  test('fails with the response of the gateway', async () => {
    await expect(runScript('post', 'nobody', 'x')).rejects.toMatchObject({ code: 22 })
  })
})

test('orders.ts asks for consent, then for payment, and then acts', async () => {
  const orders = { use: `${examples}/typescript/orders.ts` }
  const gateway = await openTestGateway(() => ({ agents: { shop: orders } }))
  try {
    const response = await askShop(gateway, 'one cake, please')
    const taskId = response.task?.id ?? ''
    const resolution = { in_reply_to_state: readPolicy(response).state }
    const paymentResponse = await askShop(gateway, 'do', { taskId, resolution })
    expect(readPolicy(paymentResponse)).toMatchObject({ kind: 'payment_required', amount: '4.50', currency: 'EUR' })
    const page = new URL(String(readPolicy(paymentResponse).url)).pathname
    expect((await decide(gateway, page, 'pay_test')).status).toBe(200)
    const readOutcome = async () => {
      const { task } = await callShop(gateway, 'GetTask', { id: taskId })
      return task?.status.state === 'TASK_STATE_COMPLETED' && readAnswerText({ status: 200, task })
    }
    expect(await eventually(readOutcome)).toMatch(/^Thank you\. Paid \([0-9a-f]{32}\): it is on its way\.$/)
  } finally {
    await gateway.close()
  }
})

test('manager.ts asks two agents in parallel, and the transcript contains their results', async () => {
  const exampleAgent = (name: string) => ({ use: `${examples}/typescript/${name}.ts` })
  const gateway = await openTestGateway(() => ({
    agents: { manager: exampleAgent('manager'), typescript: exampleAgent('agent') },
  }))
  try {
    const { reply } = await gateway.simulation.send({ via: 'a2a', to: 'manager', text: 'count to three' })
    expect(reply?.text).toMatch(/^typescript: Hello\. This is message 1[\s\S]*\n\npython: was not to be reached$/)
    const managerMessage = (await gateway.messages()).find(({ agent }) => agent === 'manager')
    const { messages } = await gateway.requestOperator<{ messages: readonly { type: string }[] }>(
      `/transcript/views/team?agent_key=manager&thread=${encodeURIComponent(`#${managerMessage?.message}`)}`,
    )
    expect(messages.map(({ type }) => type)).toEqual([
      'task',
      'strategic_plan',
      'delegation',
      'delegation',
      'observation',
      'observation',
      'synthesis',
      'assistant_message',
      'final',
    ])
  } finally {
    await gateway.close()
  }
})

test.each(['', '/openai'])('examples%s/postern.config.json is a valid configuration', async folder => {
  const environment = { OPERATOR_TOKEN: 'x'.repeat(16), WEBHOOK_SECRET: 'shared' }
  const { tree: config } = await readConfigFile({
    path: `${examples}${folder}/postern.config.json`,
    environment,
    workingDir: examples,
  })
  expect(Object.keys(parseConfig(config).agents).length).toBeGreaterThan(0)
})
