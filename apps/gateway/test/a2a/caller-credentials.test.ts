import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StartedGateway } from '../../src/testing/index.ts'
import { startGateway } from '../../src/testing/index.ts'

const echo = '@echo@agents.example'
let gateway: StartedGateway

beforeAll(async () => {
  const settings = {
    origin: 'https://agents.example',
    agents: {
      quiet: { use: 'a2a', address: echo },
      named: { use: 'a2a', address: echo, credentials: 'always' },
      echo: { use: 'builtin:echo' },
    },
    // The card of this gateway asks for no credential.
    a2a: { auth: { anonymous: true } },
  } as const
  gateway = await startGateway({ folder: import.meta.dirname, settings })
})
afterAll(() => gateway.stop())

test('an agent with `credentials: "always"` authenticates even if the card asks for no credential', async () => {
  const { text } = await gateway.chat({ to: 'named', text: 'hello' })
  expect(text).toContain('**From:** @named@agents.example')
  expect(text).toContain('**Verified:** yes')
})

test('by default an agent sends no credential if the card asks for none', async () => {
  const { text } = await gateway.chat({ to: 'quiet', text: 'hello' })
  expect(text).toContain('**Verified:** no')
})
