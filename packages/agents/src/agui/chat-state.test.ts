import { ConfigError } from '@postern/message'
import { expect, test } from 'vitest'
import { openAgui } from '../../test/agui-agent.ts'
import { runOf, textEvent } from '../../test/agui-server.ts'
import { openTestAgent } from '../../test/gateway.ts'

/** The snapshot has the shape of LangGraph's, with a call among the messages. */
const snapshot = {
  messages: [{ role: 'assistant', toolCalls: [{ name: 'pay', args: { iban: 'AT61 1904' } }] }],
  cart: ['cake'],
  customer: { name: 'Ann' },
}

test.each<[chatState: object, shown: object | undefined]>([
  [{}, undefined],
  [{ chat_state: 'none' }, undefined],
  [{ chat_state: ['cart', 'absent'] }, { cart: ['cake'] }],
  [{ chat_state: ['absent'] }, undefined],
  [{ chat_state: 'all' }, { cart: ['cake'], customer: { name: 'Ann' } }],
])('a chat shows the configured members of the state (%j)', async (config, shownState) => {
  const { ask, server } = await openAgui(() => runOf({ type: 'STATE_SNAPSHOT', snapshot }, textEvent('ok')), config)
  expect((await ask()).answer?.chat_state).toEqual(shownState)
  await ask()
  expect(server.inputs()[1]?.state).toEqual(snapshot)
})

test('a chat removes a shown state that the agent deletes', async () => {
  const states: readonly object[] = [{ cart: ['cake'] }, {}, {}]
  const { ask } = await openAgui((_input, index) => runOf({ type: 'STATE_SNAPSHOT', snapshot: states[index] }), {
    chat_state: 'all',
  })
  const chatStates = [await ask(), await ask(), await ask()].map(({ answer }) => answer?.chat_state)
  expect(chatStates).toEqual([{ cart: ['cake'] }, {}, undefined])
})

test('the configuration refuses to show the messages of a state', async () => {
  const agent = openTestAgent({ use: 'ag-ui', url: 'http://127.0.0.1:1/', chat_state: ['cart', 'messages'] })
  await expect(agent).rejects.toThrow(ConfigError)
  await expect(agent).rejects.toThrow(/messages/)
})
