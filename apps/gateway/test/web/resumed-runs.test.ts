import type { BaseEvent } from '@ag-ui/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway, readEvents, uniqueName } from '../setup/web-gateway.ts'

// These tests check that a run that continues after a decision is a run like any other.

let web: WebGateway

beforeAll(async () => {
  web = await openWebGateway({}, { agents: { chat: { use: '../agents/asking/decider.ts' } }, default_agent: 'chat' })
})
afterAll(() => web.close())

interface Outcome {
  readonly outcome: { readonly type: string; readonly interrupts?: readonly { readonly id: string }[] }
}

const outcomeOf = (events: readonly BaseEvent[]) => (events.at(-1) as unknown as Outcome).outcome

async function askForConsent(text: string): Promise<{ threadId: string; interruptId: string }> {
  const threadId = uniqueName('thread')
  const { interrupts = [] } = outcomeOf(await web.runChat(text, { threadId }))
  return { threadId, interruptId: interrupts.at(-1)?.id ?? '' }
}

const allow = (...ids: readonly string[]) =>
  ids.map(interruptId => ({ interruptId, status: 'resolved', payload: { approved: true } }))

const resume = (threadId: string, ids: readonly string[], runId = uniqueName('run')) =>
  web.postRun({ threadId, runId, messages: [], resume: allow(...ids) })

const cancel = (runId: string, as?: 'bob') =>
  web.requestJson('POST', `/api/v1/agent/runs/${runId}/cancel`, undefined, as)

test('a resumed run ends only when its owner cancels it, and the allowed action does not run (C-18, C-24)', async () => {
  const { threadId, interruptId } = await askForConsent('may I do it slowly?')
  const runId = uniqueName('run')
  const running = await resume(threadId, [interruptId], runId)
  await eventually(async () => (await web.gateway.messages()).some(({ state }) => state === 'working'))
  expect((await cancel(runId, 'bob')).status).toBe(404)
  expect((await cancel(runId)).json).toEqual({ cancelled: true })
  expect(outcomeOf(await readEvents(running))).toEqual({ type: 'cancelled' })
  expect(JSON.stringify(await web.readHistory(threadId))).not.toContain('decided: granted')
  expect((await cancel(runId)).json).toEqual({ cancelled: false })
})

describe('the run id of a resumed run', () => {
  test('counts once, with any content (C-26)', async () => {
    const [first, second] = [await askForConsent('may I?'), await askForConsent('may I, too?')]
    const runId = uniqueName('run')
    expect(JSON.stringify(await readEvents(await resume(first.threadId, [first.interruptId], runId)))).toContain(
      'decided: granted',
    )
    const secondResponse = await resume(second.threadId, [second.interruptId], runId)
    expect([secondResponse.status, await secondResponse.json()]).toMatchObject([409, { code: 'run_repeated' }])
    const messages = [{ id: uniqueName('msg'), role: 'user', content: 'hello' }]
    expect((await web.postRun({ threadId: uniqueName('thread'), runId, messages })).status).toBe(409)
    const history = await web.readHistory(first.threadId)
    expect(history.at(-1)?.metadata).toMatchObject({ run_id: runId })
    expect(outcomeOf(await readEvents(await resume(second.threadId, [second.interruptId])))).toEqual({
      type: 'success',
    })
  })

  test('counts for one of two simultaneous decisions, and the person can still make the other (C-26)', async () => {
    const questions = [await askForConsent('may I here?'), await askForConsent('may I there?')]
    const runId = uniqueName('run')
    const bothResponses = await Promise.all(
      questions.map(({ threadId, interruptId }) => resume(threadId, [interruptId], runId)),
    )
    expect(bothResponses.map(({ status }) => status).sort()).toEqual([200, 409])
    await Promise.all(bothResponses.map(answer => answer.text()))
    const refusedQuestion = questions[bothResponses.findIndex(({ status }) => status === 409)]
    const events = await readEvents(await resume(refusedQuestion?.threadId ?? '', [refusedQuestion?.interruptId ?? '']))
    expect(outcomeOf(events)).toEqual({ type: 'success' })
  })

  test('one run can decide everything that a conversation waits for (C-24)', async () => {
    const { threadId } = await askForConsent('may I once?')
    const { interrupts = [] } = outcomeOf(await web.runChat('may I twice?', { threadId }))
    expect(interrupts).toHaveLength(2)
    const events = await readEvents(
      await resume(
        threadId,
        interrupts.map(({ id }) => id),
      ),
    )
    expect(outcomeOf(events)).toEqual({ type: 'success' })
    const rows = (await web.readHistory(threadId)).filter(({ content }) => content === 'decided: granted')
    expect(rows).toHaveLength(2)
    expect(new Set(rows.map(({ metadata }) => metadata.run_id)).size).toBe(1)
  })
})
