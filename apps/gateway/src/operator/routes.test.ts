import { expect, test } from 'vitest'
import type { OperatorOptions } from './routes.ts'
import { createOperatorRoutes } from './routes.ts'

const desk = {
  findMessage: async (id: string) => ({ message: { id, recipient: '@echo@agents.test' } }),
  readHistory: async () => [],
} as unknown as OperatorOptions['desk']
const agents = { findRunning: () => undefined }
const routes = createOperatorRoutes({ desk, agents, channels: [], token: 'operator-token' })

test.each(['https://evil.test/a%2Fb', '100%', 'a%zz', 'https://evil.test/?x=1#y', 'mail+tag@x.test', 'ümlaut'])(
  'a message is shown under its own id, "%s", and no other',
  async id => {
    const headers = { authorization: 'Bearer operator-token' }
    const answer = await routes.request(`/operator/api/messages/${encodeURIComponent(id)}`, { headers })
    expect(await answer.json()).toMatchObject({ message: { id } })
  },
)
