import { requirementViews } from '@postern/operator/views'
import type { MessageRecord } from '@postern/pipeline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openOperatorClient } from '../../src/running/operator-client.ts'
import { writeRunFile } from '../../src/system/run/run-file.ts'
import { postJson } from '../replay/replay-gateway.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { describeTestConfig, eventually } from '../setup/gateway.ts'
import { askShop, callShop } from '../setup/requirement-steps.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway } from '../setup/web-gateway.ts'

// These tests let an operator rerun a turn that failed after its requirement was decided.

const failingAgent = { use: '../agents/asking/failing-refund.ts' }
let web: WebGateway
let gateway: TestGateway
beforeAll(async () => {
  web = await openWebGateway(
    {},
    { agents: { desk: failingAgent, chat: failingAgent, shop: failingAgent }, default_agent: 'chat' },
  )
  gateway = web.gateway
})
afterAll(() => web.close())

/** Grants the one open requirement, and waits until its turn has failed. */
async function failDecided(): Promise<string> {
  const [open] = await eventually(async () => {
    const { items } = await gateway.requestOperator<{ items: readonly { readonly id: string }[] }>(
      '/requirements?state=open',
    )
    return items.length > 0 && items
  })
  const id = open?.id ?? ''
  expect((await rerun(id)).json.detail).toBe('Cannot run again: nobody has decided yet')
  await postJson(gateway, `/requirements/${id}`, { outcome: 'granted' })
  await eventually(async () => (await findDecision(id))?.state === 'failed')
  return id
}

async function findDecision(id: string): Promise<MessageRecord | undefined> {
  return gateway.readMessage(`urn:postern:resolution:${id}`).catch(() => undefined)
}

const rerun = (id: string) => postJson<{ readonly message: number }>(gateway, `/requirements/${id}/rerun`, {})

async function rerunAnswered(id: string): Promise<MessageRecord> {
  const { status, json } = await rerun(id)
  expect(status).toBe(200)
  const record = await eventually(async () => {
    const shownRecord = await gateway.readMessage(`#${json.message}`)
    return shownRecord.state === 'answered' && shownRecord
  })
  expect(record.response?.parts).toMatchObject([{ content: 'Paid back, as it was granted.' }])
  const secondRerun = await rerun(id)
  expect([secondRerun.status, secondRerun.json.detail]).toEqual([
    403,
    'Cannot run again: the turn of its decision has not failed',
  ])
  return record
}

/** Reruns the decided turn with the command, and returns its output. */
async function printRerun(id: string): Promise<string> {
  const lines: string[] = []
  const config = describeTestConfig(gateway.simulation, gateway.dataDir)
  writeRunFile(gateway.dataDir, { url: gateway.url(), pid: process.pid, isSimulating: true })
  const openClient = () =>
    openOperatorClient({ tree: config, baseDir: gateway.dataDir, missingSettings: [], path: undefined })
  await requirementViews.rerun({ openClient, json: false, print: text => void lines.push(text) }, { id })
  return lines.join()
}

test('a mail gets its answer after its decided turn runs again', async () => {
  const { mail } = await gateway.simulation.mail.deliver({ to: 'desk@agents.test', text: 'My money back, please' })
  const record = await rerunAnswered(await failDecided())
  expect(record.message.sender.address).toBe('@alice@alice.test')
  const replies = await eventually(async () => {
    const texts = gateway.simulation.mail.received.map(({ text }) => text)
    return texts.some(text => text?.includes('Paid back')) && gateway.simulation.mail.received
  })
  const paidMail = replies.find(({ text }) => text?.includes('Paid back'))
  expect(paidMail?.headers.get('references')?.join()).toContain(mail.messageId)
})

test('a post gets its answer after its decided turn runs again', async () => {
  await gateway.simulation.fediverse.deliver({ to: '@desk@agents.test', text: 'My money back, please' })
  const record = await rerunAnswered(await failDecided())
  await eventually(async () =>
    (await gateway.readMessage(`#${record.number}`)).deliveries.some(({ state }) => state === 'sent'),
  )
})

test('a chat has the answer in its history after its decided turn runs again', async () => {
  await web.runChat('My money back, please', { threadId: 'refund', id: 'refund-1' })
  await rerunAnswered(await failDecided())
  expect(JSON.stringify(await web.readHistory('refund'))).toContain('Paid back, as it was granted.')
})

test('the operator learns that the caller of an ended task cannot get the answer', async () => {
  const { task } = await askShop(gateway, 'My money back, please')
  const id = await failDecided()
  expect(await printRerun(id)).toContain('a caller who waits for it hears nothing')
  const laterTask = await callShop(gateway, 'GetTask', { id: task?.id })
  expect(laterTask.task?.status.state).toBe('TASK_STATE_FAILED')
})

test('the operator gets no note about a lost answer for a chat, because its history has the answer', async () => {
  await web.runChat('My money back, please', { threadId: 'noted', id: 'noted-1' })
  expect(await printRerun(await failDecided())).toMatch(/runs again as #\d+$/)
  await eventually(async () => JSON.stringify(await web.readHistory('noted')).includes('Paid back, as it was granted.'))
})

test('the gateway answers 404 for an unknown requirement', async () => {
  expect((await rerun('none')).status).toBe(404)
})
