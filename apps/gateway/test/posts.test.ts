import type { ReceivedActivity } from '@postern/sim'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Output } from '../src/cli/commands.ts'
import { CommandError } from '../src/cli/operator-client.ts'
import { performAct } from '../src/cli/post.ts'
import { writeRunFile } from '../src/run-file.ts'
import type { TestHouse } from './house.ts'
import { describeTestConfig, eventually, openTestHouse, origin } from './house.ts'

// What an agent does of itself, from the terminal to a follower's server.

let house: TestHouse

beforeAll(async () => {
  house = await openTestHouse()
  await house.world.fediverse.send({ to: '@echo@agents.test', type: 'Follow' })
  await house.world.fediverse.awaitActivity(({ activity }) => activity.type === 'Accept', 30_000)
})
afterAll(() => house.close())

/** As `postern post`, `edit` and `unpost` do it beside the running gateway. */
async function perform(act: Parameters<typeof performAct>[3], agent = 'echo'): Promise<string> {
  writeRunFile(house.dataDir, { url: house.url(), pid: process.pid, isSimulating: true })
  const tree = describeTestConfig(house.world, house.dataDir)
  const printed: string[] = []
  const output: Output = { json: false, print: text => printed.push(text) }
  await performAct({ tree, baseDir: house.dataDir, missing: [], path: undefined }, output, agent, act)
  return printed.join('\n')
}

function says(content: string) {
  return [{ kind: 'text' as const, mime: 'text/markdown' as const, content }]
}

function awaitActivity(type: string, text: string): Promise<ReceivedActivity> {
  const matches = ({ activity }: ReceivedActivity) => activity.type === type && JSON.stringify(activity).includes(text)
  return house.world.fediverse.awaitActivity(matches, 30_000)
}

test('a post reaches who follows the agent, is changed, and is taken back', async () => {
  const printed = await perform({ act: 'post', parts: says('We are *open* again.') })
  const [, id = ''] = /^post: ([0-9a-f]{32})$/.exec(printed) ?? []
  const created = await awaitActivity('Create', 'open')
  const post = `${origin}/agents/echo/posts/${id}`
  expect(created).toMatchObject({ host: 'mastodon.test', verified: true, activity: { actor: `${origin}/agents/echo` } })
  expect(created.activity.object).toMatchObject({ id: post, content: '<p>We are <em>open</em> again.</p>' })
  expect(await house.show(`post:${id}`)).toMatchObject({ state: 'answered', response: { id }, flags: ['post'] })

  expect(await perform({ act: 'edit', response: id, parts: says('We are closed.') })).toBe('edit: done')
  const updated = await awaitActivity('Update', 'closed')
  expect(updated).toMatchObject({ verified: true, activity: { object: { id: post, updated: expect.any(String) } } })

  expect(await perform({ act: 'delete', response: id })).toBe('delete: done')
  const deleted = await awaitActivity('Delete', post)
  expect(deleted.verified).toBe(true)
  const headers = { accept: 'application/activity+json' }
  expect((await fetch(`${house.url()}/agents/echo/posts/${id}`, { headers })).status).toBe(410)
})

test('a post goes out though it was made while no gateway was running', async () => {
  await house.gateway().stop()
  const printed = await perform({ act: 'post', parts: says('Written in the dark.') })
  await house.restart()
  const created = await awaitActivity('Create', 'Written in the dark.')
  expect(JSON.stringify(created.activity)).toContain(printed.replace('post: ', ''))
  await eventually(async () => (await house.deliveries()).every(({ state }) => state === 'sent'))
})

test('what cannot be done is said in one line', async () => {
  const parts = says('…')
  await expect(perform({ act: 'post', parts }, 'nobody')).rejects.toThrow(
    new CommandError('Cannot act: there is no such agent'),
  )
  await expect(perform({ act: 'delete', response: 'unknown' })).rejects.toThrow(
    new CommandError('Cannot act: there is no such response or message, or no channel for it'),
  )
})
