import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, gatewayOrigin, operatorToken } from '../setup/gateway.ts'
import type { PeopleTestGateway } from '../setup/people-gateway.ts'
import { openPeopleGateway } from '../setup/people-gateway.ts'

// These tests let a person write by mail, on the fediverse, by calls and in the chat. After `forget`, no data of theirs remains.

const mailbox = 'zoe.marked@alice.test'
const unproven = 'zoe.marked@nodmarc.test'
const chatToken = 'token-of-zoemarked-for-the-tests'
/** Each of these names the person; none is part of another person's text. */
const names = ['zoe.marked', 'zoemarked', '/users/alice', 'alice@mastodon.test']

let people: PeopleTestGateway

beforeAll(async () => {
  const tokens = [{ name: 'zoemarked', sha256: hash('sha256', chatToken) }]
  people = await openPeopleGateway({ default_agent: 'desk', web: { enabled: true, auth: { tokens } } })
})
afterAll(() => people.close())

/** Lists the files of the data folder that contain a name, including the log of the database and its free pages. */
function listFiles(name: string): readonly string[] {
  const folder = people.gateway.dataDir
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  const holds = (path: string) => path.includes(name) || readFileSync(path).includes(name)
  return files.map(({ parentPath, name: file }) => join(parentPath, file)).filter(holds)
}

async function callAgent(text: string) {
  const messageId = `call of ${text}`
  await people.gateway.simulation.a2a.deliver({
    url: `${gatewayOrigin}/agents/desk/a2a`,
    sub: 'zoemarked',
    text,
    messageId,
  })
}

async function chat(text: string) {
  const body = { threadId: 't', runId: text, messages: [{ id: `m ${text}`, role: 'user', content: text }] }
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${chatToken}` }
  const url = `${people.gateway.url()}/api/v1/agents/desk/runs`
  await (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).text()
}

async function operate(path: string, body: object): Promise<void> {
  const response = await fetch(`${people.gateway.url()}/operator/api${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(response.status, await response.text()).toBe(200)
}

const forget = (address: string) => operate('/people/forget', { address })

const isQuiet = async () =>
  (await people.gateway.messages()).every(({ state }) => !['received', 'working'].includes(state)) &&
  (await people.gateway.deliveries()).every(({ state }) => state !== 'queued')

test('forget and vacuum remove the addresses of a person from every file of the data folder', async () => {
  const { mail, fediverse } = people.gateway.simulation
  await people.askByMail('by mail', { from: mailbox })
  await people.askByMail('and again', { from: mailbox })
  // A sender who proves nothing has separate budgets, and a refused forgery has an entry in the list.
  await mail.deliver({ to: 'desk@agents.test', from: unproven, text: 'who am I?', sign: false })
  await mail.deliver({ to: 'desk@agents.test', from: mailbox, text: 'forged', fault: 'forged' })
  await people.askByPost('by post')
  await fediverse.deliver({ to: '@desk@agents.test', text: 'in public', visibility: 'public' })
  await fediverse.deliver({ to: '@desk@agents.test', text: 'late', fault: 'expired' })
  await people.linkMail(mailbox)
  await callAgent('one')
  await chat('two')
  await eventually(isQuiet)
  for (const name of names) expect(listFiles(name), name).not.toEqual([])

  const callers = (await people.gateway.messages()).filter(({ via }) => via === 'a2a')
  await forget(mailbox)
  await forget(unproven)
  // An address without a channel counts on each channel: as an account, a mailbox and a caller.
  await forget('alice@mastodon.test')
  for (const { sender } of callers) await forget(sender)
  await operate('/owners/forget', { owner: `web:${JSON.stringify([gatewayOrigin, 'zoemarked'])}` })
  // SQLite may leave an entry in the unused space of a page that it has split; this rewrites every page.
  await operate('/vacuum', {})
  for (const name of names) expect(listFiles(name), name).toEqual([])
})
