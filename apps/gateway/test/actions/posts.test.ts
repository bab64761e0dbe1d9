import type { ApiOutput } from '@postern/operator/commands'
import { CommandError } from '@postern/operator/commands'
import { performAction } from '@postern/operator/views'
import type { ReceivedActivity } from '@postern/simulation'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openOperatorClient } from '../../src/running/operator-client.ts'
import { writeRunFile } from '../../src/system/run/run-file.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { describeTestConfig, eventually, gatewayOrigin, openTestGateway } from '../setup/gateway.ts'

// These tests check the acts of an agent outside of its answers, from the terminal to a follower's server.

let setup: TestGateway

beforeAll(async () => {
  setup = await openTestGateway()
  await setup.simulation.fediverse.send({ to: '@echo@agents.test', type: 'Follow' })
  await setup.simulation.fediverse.awaitActivity(({ activity }) => activity.type === 'Accept', 30_000)
})
afterAll(() => setup.close())

/** Performs an act next to the running gateway, like `postern post`, `edit` and `delete-post`. */
async function perform(act: Parameters<typeof performAction>[2], agent = 'echo'): Promise<string> {
  writeRunFile(setup.dataDir, { url: setup.url(), pid: process.pid, isSimulating: true })
  const config = describeTestConfig(setup.simulation, setup.dataDir)
  const lines: string[] = []
  const openClient = () =>
    openOperatorClient({ tree: config, baseDir: setup.dataDir, missingSettings: [], path: undefined })
  const output: ApiOutput = { openClient, json: false, print: text => lines.push(text) }
  await performAction(output, agent, act)
  return lines.join('\n')
}

function says(content: string) {
  return [{ kind: 'text' as const, mime: 'text/markdown' as const, content }]
}

function awaitActivity(type: string, text: string): Promise<ReceivedActivity> {
  const matches = ({ activity }: ReceivedActivity) => activity.type === type && JSON.stringify(activity).includes(text)
  return setup.simulation.fediverse.awaitActivity(matches, 30_000)
}

test('the followers of the agent receive its post, then the edit, then the deletion', async () => {
  const output = await perform({ act: 'post', parts: says('We are *open* again.') })
  const [, id = ''] = /^post: ([0-9a-f]{32})$/.exec(output) ?? []
  const createdActivity = await awaitActivity('Create', 'open')
  const postId = `${gatewayOrigin}/agents/echo/posts/${id}`
  expect(createdActivity).toMatchObject({
    host: 'mastodon.test',
    verified: true,
    activity: { actor: `${gatewayOrigin}/agents/echo` },
  })
  expect(createdActivity.activity.object).toMatchObject({ id: postId, content: '<p>We are <em>open</em> again.</p>' })
  expect(await setup.readMessage(`post:${id}`)).toMatchObject({ state: 'answered', response: { id }, flags: ['post'] })

  expect(await perform({ act: 'edit', response: id, parts: says('We are closed.') })).toBe('edit: done')
  const updated = await awaitActivity('Update', 'closed')
  expect(updated).toMatchObject({ verified: true, activity: { object: { id: postId, updated: expect.any(String) } } })

  expect(await perform({ act: 'delete', response: id })).toBe('delete: done')
  const deleted = await awaitActivity('Delete', postId)
  expect(deleted.verified).toBe(true)
  const headers = { accept: 'application/activity+json' }
  expect((await fetch(`${setup.url()}/agents/echo/posts/${id}`, { headers })).status).toBe(410)
})

test('the gateway sends a post that the operator wrote while no gateway was running', async () => {
  await setup.gateway().stop()
  const output = await perform({ act: 'post', parts: says('Written in the dark.') })
  await setup.restart()
  const createdActivity = await awaitActivity('Create', 'Written in the dark.')
  expect(JSON.stringify(createdActivity.activity)).toContain(output.replace('post: ', ''))
  await eventually(async () => (await setup.deliveries()).every(({ state }) => state === 'sent'))
})

test('the command explains in one line why it cannot post', async () => {
  const parts = says('…')
  await expect(perform({ act: 'post', parts }, 'nobody')).rejects.toThrow(
    new CommandError('Cannot act: there is no such agent'),
  )
  await expect(perform({ act: 'delete', response: 'unknown' })).rejects.toThrow(
    new CommandError('Cannot delete "unknown": this agent has no answer or post with this id'),
  )
})

test('a post that a slow server is still receiving precedes its deletion', async () => {
  const { fediverse } = setup.simulation
  const restore = fediverse.disturb('mastodon.test', { delayMs: 1_500, method: 'POST', times: 1 })
  const output = await perform({ act: 'post', parts: says('Said in haste.') })
  const id = output.replace('post: ', '')
  await eventually(async () =>
    (await setup.deliveries()).some(({ attempts, state }) => attempts === 1 && state === 'queued'),
  )
  expect(await perform({ act: 'delete', response: id })).toBe('delete: done')
  await awaitActivity('Delete', id)
  restore()
  const activities = fediverse.received.filter(({ activity }) => JSON.stringify(activity).includes(id))
  expect(activities.map(({ activity }) => activity.type)).toEqual(['Create', 'Delete'])
})
