// Tests `postern dev` of the packed package in an empty folder.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { DevGateway } from './program.ts'
import { runInstalled, startDev } from './program.ts'

const { folder, nodes } = inject('installation')
describe.each([
  ['the oldest Node that is supported', nodes.oldest],
  ['the Node of the project', process.execPath],
])('postern dev in an empty folder on %s', (_, node) => {
  const options = { node, folder }
  let gateway: DevGateway

  beforeAll(async () => {
    gateway = await startDev(options)
  })
  afterAll(async () => {
    await gateway.stop()
    rmSync(join(folder, '.postern'), { recursive: true, force: true })
  })

  test.each(['activitypub', 'a2a', 'email'])('answers a signed message over %s', async via => {
    const { code, output, errors } = await runInstalled(
      ['send', '--via', via, '--to', 'echo', `hello by ${via}`],
      options,
    )
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    expect(output).toContain(`hello by ${via}`)
    expect(output).toMatch(/Verified:\W+yes/)
  })

  test('answers in the chat', async () => {
    const response = await fetch(`${gateway.url}/api/v1/agent/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        threadId: 'thread-1',
        runId: 'run-1',
        messages: [{ id: 'm1', role: 'user', content: 'hello by chat' }],
      }),
    })
    const events = await response.text()
    expect(events).toContain('hello by chat')
    expect(events).toContain('RUN_FINISHED')
  })

  test('lists the messages, all with answers', async () => {
    const { output } = await runInstalled(['messages', '--json'], options)
    const { items } = JSON.parse(output)
    expect(items.map(({ state }: { state: string }) => state)).toEqual(['answered', 'answered', 'answered', 'answered'])
  })

  test('prints no warnings, such as Node’s experimental features', () => {
    expect(gateway.log()).not.toMatch(/Warning/)
  })
})

describe('a library that is not installed', () => {
  const project = join(folder, 'optional')

  test.each([
    ['store', { store: 'postgres://user:password@127.0.0.1:9/x' }, /"pg", which is not installed.*npm install pg/],
    ['a2a.grpc', { a2a: { grpc: { port: 0 } } }, /needs "@grpc\/grpc-js", .* and "[^"]+", which are not installed/],
  ])('gets one sentence with the key %s that needs it and the install command', async (key, config, sentence) => {
    mkdirSync(project, { recursive: true })
    const file = join(project, 'postern.config.json')
    writeFileSync(file, JSON.stringify({ ...config, listen: { port: 0 }, dev: true, email: { listen: { port: 0 } } }))
    const { code, errors } = await runInstalled(['--config', file, 'dev'], { node: process.execPath, folder })
    expect(code).toBe(1)
    expect(errors).toMatch(sentence)
    expect(errors.startsWith(`${key}: `)).toBe(true)
    expect(errors.trim().split('\n')).toHaveLength(1)
  })
})
