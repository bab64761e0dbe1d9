import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, operatorToken } from '../setup/gateway.ts'
import {
  askShop,
  callShop,
  findActionPath,
  readAnswerText,
  readPolicy,
  shopkeeper,
} from '../setup/requirement-steps.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway, uniqueName } from '../setup/web-gateway.ts'

// These tests cover questions that a person does not decide in time: everything that waits for them ends, and nobody else is notified.

let web: WebGateway
let gateway: TestGateway
const hours = 4 / 3_600

beforeAll(async () => {
  const requirements = { expires_after_hours: hours }
  web = await openWebGateway({}, { agents: { shop: shopkeeper }, default_agent: 'shop', requirements })
  gateway = web.gateway
})
afterAll(() => web.close())

interface RequirementRow {
  readonly via: string
  readonly resolved_at?: string
}

async function awaitState(id: string | undefined, state: string) {
  return eventually(async () => {
    const answer = await callShop(gateway, 'GetTask', { id })
    return answer.task?.status.state === state && answer
  })
}

test('an A2A task ends when its caller lets a question expire', async () => {
  const response = await askShop(gateway, 'consent please')
  expect(response.task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  const endedResponse = await awaitState(response.task?.id, 'TASK_STATE_COMPLETED')
  expect(readAnswerText(endedResponse)).toContain('declined by timeout')
  const state = String(readPolicy(response).state)
  const late = await askShop(gateway, 'yes', {
    ...(response.task && { contextId: response.task.contextId }),
    resolution: { in_reply_to_state: state, outcome: 'granted' },
  })
  expect(late.error?.violations).toMatchObject([{ description: 'has expired' }])
})

test('a chat tells a person once that a question has expired', async () => {
  const threadId = uniqueName('thread')
  const events = await web.runChat('consent please', { threadId })
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'interrupt' } })
  const readToolRows = () =>
    web.readHistory(threadId).then(rows => rows.filter(({ content }) => content.includes('by timeout')))
  await eventually(async () => (await readToolRows()).length > 0)
  await web.runChat('and now', { threadId })
  expect(await readToolRows()).toHaveLength(1)
})

test('a person on the fediverse hears nothing about an expired question', async () => {
  const { objectId } = await gateway.simulation.fediverse.deliver({
    to: '@shop@agents.test',
    text: 'consent please',
    visibility: 'direct',
  })
  const { activity } = await gateway.simulation.fediverse.awaitReply(objectId, 30_000)
  findActionPath(String((activity.object as { readonly content?: string }).content))
  const listedRequirement = await eventually(async () => {
    const headers = { authorization: `Bearer ${operatorToken}` }
    const response = await fetch(`${gateway.url()}/operator/api/requirements?state=expired`, { headers })
    const { items } = (await response.json()) as { readonly items: readonly RequirementRow[] }
    return items.find(({ via, resolved_at }) => via === 'activitypub' && resolved_at !== undefined)
  })
  expect(listedRequirement).toMatchObject({ resolver: { method: 'timeout' } })
  expect(gateway.simulation.fediverse.received).toHaveLength(1)
})
