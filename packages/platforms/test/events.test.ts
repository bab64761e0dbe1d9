import type { Intake, Store } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { openSlackChannel } from './open-slack.ts'
import { signSlack, slackBot, slackTeam, writeEvent } from './slack-api.ts'

/** The environment that the server of the gateway gives a request. */
const peer = { clientAddress: '192.0.2.1' }
const ts = '1700000000.000001'
const mention = { type: 'app_mention', user: 'U1', channel: 'C1', ts, text: `<@${slackBot}> hello` }
const written = { ...mention, type: 'message' }
const changed = { type: 'message', subtype: 'message_changed', channel: 'C1', channel_type: 'channel', hidden: true }

/** Opens the channel, and collects the messages that the store has admitted. */
async function openEvents() {
  const intakes: Intake[] = []
  const opened = await openSlackChannel({
    wrapStore: (store): Store => ({
      ...store,
      async admit(intake, correlationId) {
        const result = await store.admit(intake, correlationId)
        if (result.outcome !== 'duplicate') intakes.push(intake)
        return result
      },
    }),
  })
  async function send(event: object, members: object = {}): Promise<void> {
    const body = writeEvent(event, members)
    const headers = { 'content-type': 'application/json', ...signSlack(body) }
    const { status } = await opened.channel.endpoint.routes.request(
      '/platforms/slack',
      { method: 'POST', headers, body },
      peer,
    )
    expect(status).toBe(200)
  }
  return { ...opened, send, intakes, listKinds: () => intakes.map(({ message }) => message.kind) }
}

test.each([
  ['somebody of it stays external', 'U3', 'external', 'slack:T0999/U3'],
  ['a member of the own workspace stays a member', 'U1', 'member', `slack:${slackTeam}/U1`],
])('in a channel that another workspace hosts, %s', async (_, user, assurance, subject) => {
  const { send, intakes, close } = await openEvents()
  // Slack names the workspace of the channel: https://github.com/slackapi/bolt-js/issues/687
  await send({ ...mention, user }, { team_id: 'T0999', is_ext_shared_channel: true })
  expect(intakes[0]?.message.sender.identities).toMatchObject([{ assurance, subject }])
  expect(intakes[0]?.thread.scope).toBe(`slack:${slackTeam}/C1`)
  await close()
})

test('a program that writes in the name of a member is a program', async () => {
  const { send, intakes, close } = await openEvents()
  await send({ ...mention, bot_id: 'B7' })
  expect(intakes[0]).toMatchObject({ flags: ['from_agent'], quota: { turns: 20 } })
  expect(intakes[0]?.message.sender.identities).toMatchObject([{ assurance: 'bot', subject: `slack:${slackTeam}/U1` }])
  await close()
})

test('the deletion of a message with replies, of which Slack leaves a tombstone, is a deletion', async () => {
  const { send, store, listKinds, close } = await openEvents()
  await send(mention)
  const message = { type: 'message', subtype: 'tombstone', user: 'USLACKBOT', ts, thread_ts: ts, hidden: true }
  await send({ ...changed, message, previous_message: { ...written, thread_ts: ts }, ts: '1700000001.000001' })
  expect(listKinds()).toEqual(['message', 'delete'])
  const object = { author: `slack:${slackTeam}/U1`, object: `slack:C1:${ts}` }
  expect(await store.findAuthored('slack', object)).toEqual([])
  await close()
})

test.each([
  ['a preview of a link', {}, { attachments: [{ from_url: 'https://a.test', title: 'A' }] }, false],
  ['a change of Slack itself', {}, { text: `<@${slackBot}> hello <https://a.test>` }, false],
  ['a change after an edit', { edited: { user: 'U1', ts: '1700000002.000000' } }, { text: 'by Slack' }, false],
  ['a change without the former message', undefined, { text: 'by Slack' }, false],
  ['an edit', {}, { text: 'hello again', edited: { user: 'U1', ts: '1700000003.000000' } }, true],
])('%s reaches the agent only if its writer has edited the message', async (_, previous, members, isEdit) => {
  const { send, listKinds, close } = await openEvents()
  await send(mention)
  const formerMessage = { ...written, ...previous }
  const { hidden: _hidden, ...shown } = changed
  await send({
    ...shown,
    message: { ...formerMessage, ...members },
    ...(previous && { previous_message: formerMessage }),
    ts: '1700000004.000001',
  })
  expect(listKinds()).toEqual(isEdit ? ['message', 'edit'] : ['message'])
  await close()
})

test.each([
  ['nested quotes', '&gt;'.repeat(2_500)],
  ['nested lists', '+ '.repeat(4_000)],
  ['nested numbered lists', '1. '.repeat(2_500)],
  ['emphasis', '*_'.repeat(3_900)],
  ['a very long text', '[a]('.repeat(9_900)],
])('hostile markup stops nothing: %s', async (_, markup) => {
  const { send, intakes, close } = await openEvents()
  const startedAt = performance.now()
  await send({ ...mention, text: `<@${slackBot}> ok\n${markup}` })
  expect(performance.now() - startedAt).toBeLessThan(2_000)
  expect(JSON.stringify(intakes[0]?.message.parts)).toContain('ok')
  await close()
})

test('a person who takes a reaction back may react again', async () => {
  const { send, context, listKinds, close } = await openEvents()
  const owner = { response: 'r1', agent: 'echo', conversation: `slack:C1:${ts}`, scope: `slack:${slackTeam}/C1` }
  await context.records.insert({ kind: 'platform-object', owner: 'slack', key: `slack:C1:${ts}` }, owner)
  const reaction = { user: 'U1', reaction: 'tada', item: { type: 'message', channel: 'C1', ts } }
  for (const [index, type] of ['reaction_added', 'reaction_removed', 'reaction_added', 'reaction_added'].entries())
    await send({ ...reaction, type, event_ts: `1700000005.00000${Math.min(index, 2)}` })
  expect(listKinds()).toEqual(['reaction', 'reaction', 'reaction'])
  await close()
})

test('the text keeps a name that only begins with the name of the bot', async () => {
  const { send, intakes, close } = await openEvents()
  const direct = { type: 'message', channel_type: 'im', user: 'U1', channel: 'D1' }
  for (const [index, text] of ['@desktop hello', '@desk hello'].entries())
    await send({ ...direct, ts: `1700000006.00000${index}`, text })
  expect(intakes.map(({ message }) => message.parts)).toMatchObject([
    [{ content: '@desktop hello' }],
    [{ content: 'hello' }],
  ])
  await close()
})
